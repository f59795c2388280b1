#!/usr/bin/env bash
# Builds the fuzz targets (clang, preset fuzz) and runs each for some seconds, starting from the seeds committed in
# tests/fuzz/corpus/NAME. New inputs go to build/fuzz/corpus/NAME, an input that crashes to build/fuzz/crash-NAME-*;
# the first crash, leak, hang or greed (tests/fuzz/fuzz.h) ends the run with status 1. What was run is added to FUZZ_LOG (default
# results/fuzz.json, the sum of all runs: commit it). Usage: tools/fuzz.sh [SECONDS [NAME...]]
#   tools/fuzz.sh --minimise [NAME...]   beside the seeds written by hand: the fewest found inputs that reach what was reached, at most 60 and 32 KB a target
#   tools/fuzz.sh --total                executions of each target in FUZZ_LOG
set -euo pipefail
cd "$(dirname "$0")/.."
log=${FUZZ_LOG:-results/fuzz.json} build=$PWD/build/fuzz commit=$(git rev-parse --short HEAD)
mode=run seconds=60
case ${1:-} in
  --minimise|--total) mode=${1#--}; shift ;;
  '') ;;
  *) seconds=$1; shift ;;
esac
[[ $seconds =~ ^[0-9]+$ ]] || { echo "fuzz: SECONDS must be a number, found '$seconds'" >&2; exit 2; }
if [ $mode = total ]; then
  tools/fuzz_log.py "$log"
  exit
fi
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for source in tests/fuzz/fuzz_*.c; do
    name=${source##*/fuzz_}
    names+=("${name%.c}")
  done
fi
for name in "${names[@]}"; do
  [ -f "tests/fuzz/fuzz_$name.c" ] || { echo "fuzz: there is no tests/fuzz/fuzz_$name.c" >&2; exit 2; }
done
if [ -z "${FUZZ_BUILT:-}" ]; then
  cmake --preset fuzz >/dev/null
  cmake --build --preset fuzz -- "${names[@]/#/fuzz_}" >$build/build.log 2>&1 || { cat $build/build.log; exit 1; }
fi
# the limits of memory and time for a run are in tests/fuzz/fuzz.h; these catch what does not come back, and other libraries' memory
common=(-timeout=30 -rss_limit_mb=2048 -malloc_limit_mb=192 -max_len=65536 -close_fd_mask=1)
export OPENBLAS_NUM_THREADS=1
# absolute names: the target of the command line works in a directory of its own
for name in "${names[@]}"; do
  found=$build/corpus/$name seeds=$PWD/tests/fuzz/corpus/$name options=("${common[@]}")
  program=$build/tests/fuzz/fuzz_$name
  mkdir -p "$found" "$seeds"
  [ "$name" = cli ] && options+=(-close_fd_mask=3)
  if [ $mode = minimise ]; then
    rm -rf "$found.small"; mkdir "$found.small"
    "$program" "${options[@]}" -merge=1 "$found.small" "$seeds" "$found" >"$build/$name.log" 2>&1 || { tail -n 40 "$build/$name.log"; exit 1; }
    # what was written by hand has a name and stays; of the found, smallest first, as many as 32 KB hold
    find "$seeds" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -delete
    find "$found.small" -type f -size +0 -printf '%s %p\n' | grep -E '/[0-9a-f]{40}$' | sort -n | head -n 60 | awk '{ sum += $1; if (sum > 32768) exit; print $2 }' | xargs -r cp -t "$seeds"
    echo "fuzz: $name: $(ls "$found.small" | wc -l) inputs, $(ls "$seeds" | wc -l) kept"
    continue
  fi
  [ -f "tests/fuzz/$name.dict" ] && options+=("-dict=$PWD/tests/fuzz/$name.dict")
  echo "fuzz: $name for $seconds s"
  if ! "$program" -max_total_time="$seconds" "${options[@]}" -artifact_prefix="$build/crash-$name-" -print_final_stats=1 "$found" \
       "$seeds" >"$build/$name.log" 2>&1; then
    tail -n 60 "$build/$name.log"
    echo "fuzz: $name FAILED; the input is $build/crash-$name-*" >&2
    exit 1
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
  FUZZ_COMMIT=$commit tools/fuzz_log.py "$log" "$name" "${runs:-0}" "$seconds" "$(ls "$found" | wc -l)"
  echo "fuzz: $name: ${runs:-0} runs"
done
