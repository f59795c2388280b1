#!/usr/bin/env bash
# The include rule holds, and the check notices each way of breaking it. Usage: sh_floors.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
check=$1/tools/check_floors.sh
"$check" "$1"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/src/{base,mesh,nn,report,other} "$root/cli"
rmdir "$root/src/other"

good() { "$check" "$root" || { echo "refused: $1" >&2; exit 1; }; }
# FILE, one line of code, what the complaint must say
breaks() {
  echo "$2" >"$root/$1"
  if "$check" "$root" 2>"$root/said"; then echo "accepted in $1: $2" >&2; exit 1; fi
  grep -qF "$3" "$root/said" || { echo "expected '$3', found:" >&2; cat "$root/said" >&2; exit 1; }
  rm -r "${root:?}/$1"
}
echo '#include "base/mem.h"' >"$root/src/mesh/a.c"
echo '#include "mesh/a.h"' >>"$root/src/mesh/a.c"
echo '#include <stdio.h>' >>"$root/src/mesh/a.c"
echo '#include "dkho.h"' >"$root/src/base/mem.h"
echo '#include <jansson.h>' >"$root/cli/main.c"
echo '#include "cli.h"' >>"$root/cli/main.c"
good "files that keep the rule"
breaks src/base/a.c '#include "mesh/cx.h"' 'src/base/a.c:1: base may not include mesh/cx.h'
breaks src/mesh/b.c '#include <nn/tape.h>' 'src/mesh/b.c:1: mesh may not include nn/tape.h'
breaks src/nn/a.h '  #  include "mesh/cx.h"' 'nn may not include mesh/cx.h'
breaks src/report/a.c '#include "model/model.h"' 'report may not include model/model.h'
breaks src/mesh/c.c '#include "../nn/tape.h"' 'instead of ../nn/tape.h'
breaks src/mesh/d.c '#include "a.c"' 'instead of a.c'
breaks src/mesh/e.c '#include "base/st_impl.h"' 'base/st_impl.h is private to base'
breaks src/mesh/f_priv.h '/* private */' 'src/mesh/f_priv.h: the name of a private header ends in _impl.h'
breaks src/mesh/g.h '/* g.h: what the sources of the mesher share. */' 'src/mesh/g.h: the name of a private header ends in _impl.h'
echo '#include "mesh/h.h"' >"$root/src/mesh/h_one.c"
cp "$root/src/mesh/h_one.c" "$root/src/mesh/h.c"
breaks src/mesh/h.h '/* only its own sources */' 'src/mesh/h.h: the name of a private header ends in _impl.h'
breaks cli/a.c '#include "base/mem.h"' 'cli may include only dkho.h'
mkdir -p "$root"/src/{problem,run}
echo '    .name = "darcy",' >"$root/src/problem/a.c"
echo '    .name = "flow",' >"$root/src/problem/b.c"
echo '/* the exact flow */' >"$root/src/run/a.c"
good "a benchmark's name in its own file, and an ordinary word"
breaks src/run/b.c 'if (strcmp(name, "flow") == 0)' 'src/run/b.c:1: knows the benchmark flow'
breaks src/nn/b.c '/* as for darcy */' 'src/nn/b.c:1: knows the benchmark darcy'
breaks src/run/c.c 'return &problem_flow;' 'knows the benchmark flow'
mkdir "$root/src/other"
if "$check" "$root" 2>/dev/null; then echo "accepted an unknown floor" >&2; exit 1; fi
echo "the floors hold"
