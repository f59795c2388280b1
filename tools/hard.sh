#!/usr/bin/env bash
# The long forms of the tests that try to break things (docs/RELIABILITY.md), hours in all; `make test` runs the short forms. Every stage adds lines to
# build/hard/report.txt: date, commit, what was done, the figures. A stage that fails says so there, and the script ends with status 1.
# Usage: tools/hard.sh [STAGE...]   faults kill memory tsan msan valgrind analyse tidy coverage mutants fuzz soak (default: all)
#   HARD_FUZZ=SECONDS for each fuzz target (600), HARD_SOAK=SECONDS (7200), HARD_MUTANTS=COUNT (220), HARD_SEED=SEED of the mutants (1)
#   HARD_SHORT=1: minutes in all: a part of each stage, to see that it works. CI runs some stages so.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD release=build/release/tests report=build/hard/report.txt
mkdir -p build/hard
short=${HARD_SHORT:-}
if [ -n "$short" ]; then HARD_FUZZ=${HARD_FUZZ:-3} HARD_SOAK=${HARD_SOAK:-10} HARD_MUTANTS=${HARD_MUTANTS:-3}; fi
[ $# -gt 0 ] || set -- faults kill memory tsan msan valgrind analyse tidy coverage mutants fuzz soak

say() { echo "$(date +%F) $(git rev-parse --short HEAD) $stage: $*" | tee -a $report; }
log() { echo "build/hard/$stage.log"; }
built() { # PRESET TARGET…
  local preset=$1; shift
  cmake --preset "$preset" >"$(log)" 2>&1 && cmake --build --preset "$preset" -- "$@" >>"$(log)" 2>&1 || { tail -n 30 "$(log)"; return 1; }
}
# Runs a test program of the release build with settings, and keeps the lines that hold its figures.
counted() { # PATTERN SETTING PROGRAM
  built release "$3" && env "$2" $release/"$3" >>"$(log)" 2>&1 || { tail -n 20 "$(log)"; return 1; }
  grep -E "$1" "$(log)" | while read -r line; do say "$2 $3: $line"; done
}

faults() { counted 'faults injected|states of the disk' "FAULTS=$([ -n "$short" ] && echo some || echo all)" t_faults; }
kill_() { counted 'kills' KILLS=$((short ? 1 : 56)) t_kill; }
memory() {
  counted 'allocations failed' MEMORY=$((short ? 1 : 12)) t_api_memory && counted 'allocations failed' MEMORY=$((short ? 1 : 4)) t_study_memory &&
    counted 'allocations failed' MEMORY=$((short ? 1 : 3)) t_more_memory
}
soak() { counted 'rounds in' "SOAK=${HARD_SOAK:-7200}" t_soak; }

# The sanitizers of threads and of memory want addresses where they expect them.
fixed=()
if setarch -R true 2>/dev/null; then fixed=(setarch -R); fi
suite() { # PRESET CTEST-ARGUMENTS…: configured and built by the caller
  local preset=$1; shift
  (cd "build/$preset" && "${fixed[@]}" ctest --output-on-failure "$@") >>"$(log)" 2>&1 || { grep -E 'Failed|SUMMARY|WARNING: ' "$(log)" | sort | uniq | tail -n 40; return 1; }
  say "$(grep -E 'tests passed' "$(log)" | tail -n 1)"
}
# Threads: everything that starts some. OpenBLAS, OpenMP in CHOLMOD and ARPACK are not instrumented; each is called by one thread at a time or
# holds its own locks (tests/tsan.supp).
tsan() {
  local tests=(base fused batch nn models_train runner many api_learn problem_driver ranks twin sum_tree ranks_faults parts parts_runner parts_api)
  [ -z "$short" ] || tests=(base batch)
  built tsan t_comm "${tests[@]/#/t_}" &&
    TSAN_OPTIONS=die_after_fork=0 suite tsan -R '^t_comm$' && # loads a library twice, which a suppression by its name may not meet
    TSAN_OPTIONS="die_after_fork=0 suppressions=$root/tests/tsan.supp" suite tsan -R "^t_($(IFS='|'; echo "${tests[*]}"))\$"
}
# Uninitialised memory, of the code that calls no uninstrumented library: those write results that MemorySanitizer does not see.
msan() {
  local tests=(base st st_bad file npy npz cx cx_store meshio meshio_bad mesh_formats mesh_repair features kern params)
  [ -z "$short" ] || tests=(base st st_bad)
  built msan "${tests[@]/#/t_}" && suite msan -R "^t_($(IFS='|'; echo "${tests[*]}"))\$"
}
# One pass of every verb under Valgrind's memcheck, on AVX2 code (Valgrind 3.19 knows no AVX-512).
valgrind_() {
  built release dkho_cli || return 1
  bash tools/verbs_valgrind.sh "$root/build/release" ${short:+8} >"$(log)" 2>&1 || { tail -n 40 "$(log)"; return 1; }
  say "$(tail -n 1 "$(log)")"
}
# GCC's own analyser over the library and the tool.
analyse() {
  cmake --preset release >"$(log)" 2>&1 || return 1
  # shellcheck disable=SC2046
  tools/analyse.py $([ -z "$short" ] || git ls-files 'src/mesh/read_*.c' 'src/base/*.c') >"$(log)" 2>&1 || { tail -n 40 "$(log)"; return 1; }
  say "$(tail -n 1 "$(log)")"
}
tidy() {
  local list=()
  [ -z "$short" ] || mapfile -t list < <(git ls-files 'src/base/*.c')
  TIDY_FILES="${list[*]}" tools/lint.sh tidy >"$(log)" 2>&1 || { tail -n 40 "$(log)"; return 1; }
  say "clang-tidy clean over ${#list[@]} files (0: all)"
}
coverage() { tools/coverage.sh ${short:+'^t_(st|st_bad|npy)$'} >"$(log)" 2>&1 || { tail -n 20 "$(log)"; return 1; }; say "$(tail -n 2 "$(log)" | tr '\n' ' ')"; }
mutants() {
  local more=(--report build/hard/mutants.jsonl --record results/mutants.json)
  [ -z "$short" ] || more=(--report build/hard/mutants-short.jsonl '--only=src/(la|dec)/')
  built release all && python3 tools/mutate.py --count "${HARD_MUTANTS:-220}" --seed "${HARD_SEED:-1}" "${more[@]}" >>"$(log)" 2>&1 || { tail "$(log)"; return 1; }
  say "$(grep -E '^mutate: [0-9]+ tried' "$(log)" | tail -n 1)"
}
fuzz() {
  local book=results/fuzz.json
  [ -z "$short" ] || book=build/hard/fuzz.json
  FUZZ_LOG=$book tools/fuzz.sh "${HARD_FUZZ:-600}" >"$(log)" 2>&1 || { tail -n 40 "$(log)"; return 1; }
  FUZZ_LOG=$book tools/fuzz.sh --total | while read -r line; do say "$line"; done
}

bad=0
for stage; do
  case $stage in
    kill|valgrind) run=${stage}_ ;;
    faults|memory|tsan|msan|analyse|tidy|coverage|mutants|fuzz|soak) run=$stage ;;
    *) echo "hard: unknown stage '$stage'" >&2; exit 2 ;;
  esac
  $run || { say FAILED; bad=1; }
done
exit $bad
