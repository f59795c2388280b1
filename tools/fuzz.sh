#!/usr/bin/env bash
# Builds the fuzz targets (clang, preset fuzz) and runs each for some seconds, starting from the seeds committed in
# tests/fuzz/corpus/NAME. New inputs go to build/fuzz/corpus/NAME, an input that crashes to build/fuzz/crash-NAME-*;
# the first crash, leak or hang ends the run with status 1. Usage: tools/fuzz.sh [SECONDS [NAME...]]   (NAME: st, ...)
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -eq 0 ] || shift
[[ $seconds =~ ^[0-9]+$ ]] || { echo "fuzz: SECONDS must be a number, found '$seconds'" >&2; exit 2; }
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
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -- "${names[@]/#/fuzz_}" >build/fuzz/build.log 2>&1 || { cat build/fuzz/build.log; exit 1; }
for name in "${names[@]}"; do
  found=build/fuzz/corpus/$name seeds=tests/fuzz/corpus/$name options=()
  mkdir -p "$found"
  [ -d "$seeds" ] && options+=("$seeds")
  [ -f "tests/fuzz/$name.dict" ] && options+=("-dict=tests/fuzz/$name.dict")
  echo "fuzz: $name for $seconds s"
  if ! build/fuzz/tests/fuzz/fuzz_"$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
       -artifact_prefix="build/fuzz/crash-$name-" -print_final_stats=1 "$found" "${options[@]}" \
       >"build/fuzz/$name.log" 2>&1; then
    tail -n 60 "build/fuzz/$name.log"
    echo "fuzz: $name FAILED; the input is build/fuzz/crash-$name-*" >&2
    exit 1
  fi
  grep -E '^(#[0-9]+.*DONE|stat::number_of_executed_units)' "build/fuzz/$name.log"
done
