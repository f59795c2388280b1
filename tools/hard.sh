#!/usr/bin/env bash
# The long forms of the tests that try to break things (docs/RELIABILITY.md), hours in all; `make test` runs the short forms. Every stage adds lines to
# build/hard/report.txt: date, commit, what was done, the figures. A stage that fails says so there, and the script ends with status 1.
# Usage: tools/hard.sh [STAGE...]   faults kill memory tsan msan valgrind analyse tidy coverage mutants fuzz soak (default: all)
#   HARD_FUZZ=SECONDS for each fuzz target (600), HARD_SOAK=SECONDS (7200), HARD_MUTANTS=COUNT (220)
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD release=build/release/tests report=build/hard/report.txt
mkdir -p build/hard
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

faults() { counted 'faults injected|states of the disk' FAULTS=all t_faults; }
kill_() { counted 'kills' KILLS=56 t_kill; }
memory() {
  counted 'allocations failed' MEMORY=12 t_api_memory && counted 'allocations failed' MEMORY=4 t_study_memory &&
    counted 'allocations failed' MEMORY=3 t_more_memory
}
soak() { counted 'rounds in' "SOAK=${HARD_SOAK:-7200}" t_soak; }

suite() { # PRESET CTEST-ARGUMENTS…: configured and built by the caller
  local preset=$1; shift
  (cd "build/$preset" && ctest --output-on-failure "$@") >>"$(log)" 2>&1 || { grep -E 'Failed|SUMMARY|WARNING: ' "$(log)" | sort | uniq | tail -n 40; return 1; }
  say "$(grep -E 'tests passed' "$(log)" | tail -n 1)"
}
# Threads: everything that starts some. OpenBLAS, OpenMP in CHOLMOD and ARPACK are not instrumented; each is called by one thread at a time or
# holds its own locks (tests/tsan.supp).
tsan() {
  local tests=(base fused batch nn models_train runner many api_learn problem_driver ranks twin)
  built tsan "${tests[@]/#/t_}" &&
    TSAN_OPTIONS="die_after_fork=0 suppressions=$root/tests/tsan.supp" suite tsan -R "^t_($(IFS='|'; echo "${tests[*]}"))\$"
}
# Uninitialised memory, of the code that calls no uninstrumented library: those write results that MemorySanitizer does not see.
msan() {
  built msan t_base t_st t_st_bad t_file t_npy t_features t_cx t_meshio_bad t_mesh_formats t_kern t_fused t_nn t_params t_batch t_metrics &&
    suite msan -R '^t_(base|st|st_bad|file|npy|features|cx|meshio_bad|mesh_formats|kern|fused|nn|params|batch)$'
}
# One pass of every verb under Valgrind's memcheck, on AVX2 code (Valgrind 3.19 knows no AVX-512).
valgrind_() {
  built release dkho_cli || return 1
  bash tools/verbs_valgrind.sh "$root/build/release" >"$(log)" 2>&1 || { tail -n 40 "$(log)"; return 1; }
  say "$(tail -n 1 "$(log)")"
}
# GCC's own analyser over the library and the tool.
analyse() {
  cmake --preset release >"$(log)" 2>&1 || return 1
  tools/analyse.py >"$(log)" 2>&1 || { tail -n 40 "$(log)"; return 1; }
  say "$(tail -n 1 "$(log)")"
}
tidy() { tools/lint.sh tidy >"$(log)" 2>&1 || { tail -n 40 "$(log)"; return 1; }; say "clang-tidy clean over $(git ls-files 'src/*.c' 'cli/*.c' | wc -l) files"; }
coverage() { tools/coverage.sh >"$(log)" 2>&1 || { tail -n 20 "$(log)"; return 1; }; say "$(tail -n 2 "$(log)" | tr '\n' ' ')"; }
mutants() {
  built release all && python3 tools/mutate.py --count "${HARD_MUTANTS:-220}" --report build/hard/mutants.jsonl >>"$(log)" 2>&1 || { tail "$(log)"; return 1; }
  say "$(grep -E '^mutate: [0-9]+ tried' "$(log)" | tail -n 1)"
}
fuzz() {
  FUZZ_LOG=build/hard/fuzz.csv tools/fuzz.sh "${HARD_FUZZ:-600}" >"$(log)" 2>&1 || { tail -n 40 "$(log)"; return 1; }
  FUZZ_LOG=build/hard/fuzz.csv tools/fuzz.sh --total | while read -r line; do say "$line"; done
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
