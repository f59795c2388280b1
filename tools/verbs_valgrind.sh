#!/usr/bin/env bash
# One pass of every verb under Valgrind: no invalid access, no use of undefined values, nothing definitely lost. Usage: tools/verbs_valgrind.sh BUILD [FIRST]: only
# the first so many passes
set -euo pipefail
dkho=$1/dkho tests=$(realpath "$(dirname "$0")")/../tests
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
export OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F
passes=0 most=${2:-1000}
pass() {
  valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --suppressions="$tests/valgrind.supp" "$dkho" "$@" >out 2>err || { echo "dkho $*:"; tail -n 40 err; exit 1; }
  passes=$((passes + 1))
  [ $passes -lt "$most" ] || { echo "$passes passes of verbs under Valgrind, no error"; exit 0; }
}
pass mesh torus --resolution smoke -o mesh.st
pass mesh mesh.st
pass mesh mesh.st -o mesh.vtu
pass data darcy --resolution smoke --samples 12 -o data.st --threads 1
pass models
pass train --data data.st --target q --h 4 --c 2 --layers 1 --epochs 1 -o run --threads 2
pass eval run --threads 1
pass predict run/best.st --data data.st -o out.st --threads 1
pass predict run/best.st --data data.st --split test -o out.vtu --threads 1
pass info run/best.st
pass info data.st
pass plot run -o plots
pass view run -o page.html
pass phase run --limit 1
pass pack run -o packed.st
pass check packed.st
pass completion bash
pass bench torus --size small --resolution smoke --seconds 0.01
pass reproduce torus --budget smoke --target u --samples 10 --epochs 1 -o study
cp "$tests"/data/annulus/* .
pass data check spec.json
pass data import spec.json -o my.st
pass data check my.st
pass train --data my.st --target u --h 4 --c 2 --layers 1 --epochs 1 -o mine --threads 1
pass predict mine --input u0=u0.npy --input rim=rim.npy -o o.npy --threads 1
# one epoch more than there was
sed -i 's/"epochs": 1,/"epochs": 2,/' mine/config.json && rm mine/result.json
pass train --resume mine --threads 2
echo '{"data": "my.st", "fixed": {"epochs": 1, "h": 4, "c": 2, "layers": 1, "target": "q"}, "over": {"optimizer": ["soap", "muon"]}}' >s.json
pass sweep s.json --threads 1
pass sweep s.json --table
pass demo torus --samples 14 --epochs 1 -o demo
pass help train
echo "$passes passes of verbs under Valgrind, no error"
