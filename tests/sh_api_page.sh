#!/usr/bin/env bash
# docs/API.md: it names the functions of the header, all of them and no others, and so does the library; its examples are two statements that
# compile. Arguments: the source and the build directory.
set -euo pipefail
python=${PYTHON:-/usr/bin/python3}
source_dir=$1 build=$2
command -v "$python" > /dev/null || { echo "no Python: skipped"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nm -D --defined-only "$build/libdkho.so" | awk '$2 == "T" && $3 ~ /^dkho_/ {print $3}' | sort > "$dir/exported"
"$python" - "$source_dir" "$dir" <<'PY'
import re, sys
source, out = sys.argv[1:]
header = open(source + "/include/dkho.h").read()
header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
declared = re.findall(r"DKHO_API[^;(]*?\b(dkho_\w+)\s*\(", header)
page = open(source + "/docs/API.md").read()
entries = re.findall(r"^`(dkho_\w+)`: [^\n]*\n```c\n(.*?)```", page, re.S | re.M)
named = [name for name, _ in entries]
exported = open(out + "/exported").read().split()
for what, found in (("docs/API.md", named), ("the library", exported)):
    missing, extra = set(declared) - set(found), set(found) - set(declared)
    assert not missing and not extra, f"{what}: missing {sorted(missing)}, not in the header {sorted(extra)}"
assert len(named) == len(set(named)) and named == sorted(named, key=declared.index), "the page has another order than the header"
before = re.search(r"```c declarations\n(.*?)```", page, re.S).group(1)
includes = "\n".join(line for line in before.splitlines() if line.startswith("#"))
variables = "\n".join(line for line in before.splitlines() if not line.startswith("#"))
with open(out + "/page.c", "w") as f:
    print(includes, file=f)
    print("#pragma GCC diagnostic ignored \"-Wunused-variable\"", file=f)
    print(variables, file=f)
    for name, code in entries:
        assert name in code, f"{name}: the example does not call it"
        assert len(code.strip().splitlines()) == 2, f"{name}: the example has not two lines"
        print(f"void example_{name}(void);\nvoid example_{name}(void) {{\n{code}}}", file=f)
PY
cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I "$source_dir/include" "$dir/page.c"
