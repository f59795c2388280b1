#!/usr/bin/env bash
# The tools that try to break things (tools/hard.sh) name what is there: tests of every folder of the numerics, the programs of each stage, every verb
# under Valgrind, every option in the fuzzer's dictionary. Usage: sh_hard.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
command -v python3 >/dev/null || exit 77
cd "$1"
bad=0
missing() { echo "$*" >&2; bad=1; }
[ ! -e .git ] || python3 tools/mutate.py --check || bad=1
for name in $(grep -oP 'local tests=\(\K[^)]*' tools/hard.sh); do
  [ -f "tests/test_$name.c" ] || missing "tools/hard.sh: there is no tests/test_$name.c"
done
for verb in $("$2/dkho" help --verbs); do
  grep -q "^pass $verb\b" tools/verbs_valgrind.sh || missing "tools/verbs_valgrind.sh has no pass of $verb"
  grep -q "^\"$verb\"$" tests/fuzz/cli.dict || missing "tests/fuzz/cli.dict has no \"$verb\""
done
for option in $(grep -ohP '^ *\{"\K--?[a-z0-9-]+(?=", OPT_)' cli/*.c | sort -u); do
  grep -q -- "^\"$option\"$" tests/fuzz/cli.dict || missing "tests/fuzz/cli.dict has no \"$option\""
done
for target in tests/fuzz/fuzz_*.c; do
  name=${target##*/fuzz_} name=${name%.c}
  ls tests/fuzz/corpus/"$name"/* >/dev/null 2>&1 || missing "tests/fuzz/corpus/$name holds no seed"
done
# every alternative of the list of parsers is a file
python3 - <<'EOF' || bad=1
import glob, re, sys
text = "".join(re.findall(r'r"([^"]*)"', re.search(r"PARSERS = re.compile\((.*?)\)\nlines", open("tools/coverage.py").read(), re.S)[1]))
pattern, files, bad = re.compile(text), [f for f in glob.glob("src/*/*.c")], 0
for word in set(re.findall(r"[a-z_]{3,}", text)) - {"src"}:
    if not any(pattern.match(f) and word in f for f in files):
        print("tools/coverage.py: no file fits '%s'" % word, file=sys.stderr)
        bad = 1
sys.exit(bad)
EOF
exit $bad
