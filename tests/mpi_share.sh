#!/usr/bin/env bash
# `dkho train --parts`: ranks that share the meshes, alone and in groups that share the samples, give the files of one process; a run
# goes on with other parts; what cannot be divided is refused in one line. Usage: mpi_share.sh BUILD "LAUNCHER -n"
set -euo pipefail
dkho=$1/dkho launch=$2
export OMPI_MCA_mpi_yield_when_idle=1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" data torus --resolution main --samples 20 -o data.st --quiet
options=(--data data.st --target 1 --h 6 --c 2 --layers 2 --substeps 1 --epochs 2 --batch 4 --threads 1)
"$dkho" train "${options[@]}" -o one --quiet >/dev/null
same() { cmp one/best.st "$1/best.st"; diff <(cut -d, -f1-4 one/metrics.csv) <(cut -d, -f1-4 "$1/metrics.csv"); }
$launch 2 "$dkho" train "${options[@]}" --parts 2 -o two --quiet >/dev/null 2>err || { cat err; exit 1; }
same two
$launch 4 "$dkho" train "${options[@]}" --parts 2 -o four --quiet >/dev/null 2>err || { cat err; exit 1; }
same four
# content that travels between degrees and over low modes, for which ranks also exchange it
for relation in none kuramoto; do
  wide=(--data data.st --target 1 --model dkho-x --set h=6 --set layers=2 --set spectral=5 --set "relation=$relation" --epochs 1 --batch 4 --threads 1)
  "$dkho" train "${wide[@]}" -o "x-$relation" --quiet >/dev/null
  for ranks in 2 4; do
    $launch $ranks "$dkho" train "${wide[@]}" --parts 2 -o "x-$relation-$ranks" --quiet >/dev/null 2>err || { cat err; exit 1; }
    cmp "x-$relation/best.st" "x-$relation-$ranks/best.st"
  done
done
# evaluation and predictions
judged() { grep -v -e seconds -e '"run"'; }
for run in one x-none; do
  "$dkho" eval "$run" --json --threads 1 | judged >whole.json
  diff whole.json <($launch 4 "$dkho" eval "$run" --parts 2 --json --threads 1 2>/dev/null | judged)
  "$dkho" predict "$run" --data data.st --split test -o whole.st --force --quiet >/dev/null
  $launch 3 "$dkho" predict "$run" --parts 3 --data data.st --split test -o parts.st --threads 1 --force --quiet >/dev/null 2>err || { cat err; exit 1; }
  cmp whole.st parts.st
done
if $launch 4 "$dkho" predict one --parts 2 --data data.st -o no.st --quiet 2>err; then exit 1; fi
grep -q 'parts: found 2, expected the number of ranks, 4' err
$launch 2 "$dkho" predict one --parts 2 --data data.st --split test --limit 2 -o field.pvd --threads 1 --quiet >/dev/null
[ "$(ls field-*.vtm | wc -l)" = 2 ]
if $launch 2 "$dkho" predict one --parts 2 --data data.st --split test -o field.pvd --threads 1 --quiet 2>err; then exit 1; fi
[ "$(grep -c 'field.pvd: exists already' err)" = 1 ]
# a run that one process has begun
"$dkho" train "${options[@]}" --checkpoint-seconds 0.01 -o begun --quiet >/dev/null 2>&1 & job=$!
for i in $(seq 600); do [ -f begun/last.st ] && break; sleep 0.05; done
kill -TERM $job 2>/dev/null || true
wait $job || true
$launch 3 "$dkho" train --resume begun --parts 3 --threads 1 --quiet >/dev/null 2>err || { cat err; exit 1; }
same begun
if $launch 3 "$dkho" train "${options[@]}" --parts 2 -o no --quiet 2>err; then exit 1; fi
grep -q 'parts: found 2, expected a divisor of the number of ranks, 3' err
if $launch 2 "$dkho" train "${options[@]:0:4}" --model mgn --epochs 1 --parts 2 -o no --quiet 2>err; then exit 1; fi
grep -q 'mgn does not run on a mesh in parts' err
[ ! -e no ]
