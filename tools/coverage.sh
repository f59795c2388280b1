#!/usr/bin/env bash
# Lines and branches of the library and the tool that the tests reach (gcov, lcov), and of the parsers and the checkpoint code by file. Branches leave out
# those to the end of the process and of assertions. Usage: tools/coverage.sh [CTEST_REGEX]; the report is build/coverage/report.txt
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/coverage
cmake --preset coverage >/dev/null
cmake --build --preset coverage >$out/build.log 2>&1 || { tail -n 20 $out/build.log; exit 1; }
find $out -name '*.gcda' -delete
(cd $out && ctest -j2 -R "${1:-.}" >ctest.log 2>&1) || { tail -n 20 $out/ctest.log; echo "coverage: tests failed" >&2; }
lcov --quiet --capture --directory $out --rc lcov_branch_coverage=1 --output-file $out/all.info 2>/dev/null
lcov --quiet --extract $out/all.info "$PWD/src/*" "$PWD/cli/*" --rc lcov_branch_coverage=1 --output-file $out/own.info 2>/dev/null
python3 tools/coverage.py $out/own.info | tee $out/report.txt
