#!/usr/bin/env bash
# A C program with an MPI_Comm of its own (examples/train_mpi.c): three ranks, in groups of two and one, make and train what one process
# makes and trains. Usage: mpi_program.sh BUILD "LAUNCHER -n"
set -euo pipefail
build=$1 launch=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
$launch 3 "$build/tests/train_mpi" data.st run >out 2>err || { cat out err; exit 1; }
grep -q '^run-0: trained by 2 ranks$' out
grep -q '^run-1: trained by 1 ranks$' out
"$build/dkho" data torus --resolution smoke --samples 48 --seed 42 -o one.st --quiet
cmp data.st one.st
for seed in 0 1; do
  "$build/dkho" train --data data.st --target 0 --h 8 --c 2 --layers 2 --epochs 3 --seed $seed --threads 1 -o "one-$seed" --quiet >/dev/null
  cmp "one-$seed/best.st" "run-$seed/best.st"
done
