#!/usr/bin/env bash
# Eight and sixteen ranks, many more than cores: the files of one process, sharing samples, and sharing them and the mesh.
# Usage: mpi_many.sh BUILD "LAUNCHER -n"
set -euo pipefail
dkho=$1/dkho launch=$2
export OMPI_MCA_mpi_yield_when_idle=1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" data darcy --resolution smoke --samples 40 -o data.st --quiet
$launch 8 "$dkho" data darcy --resolution smoke --samples 40 -o shared.st --threads 1 --quiet
cmp data.st shared.st
options=(--data data.st --target 1 --h 6 --c 2 --layers 2 --substeps 1 --epochs 2 --batch 16 --optimizer muon --threads 1)
"$dkho" train "${options[@]}" -o one --quiet >/dev/null
same() { cmp one/best.st "$1/best.st"; diff <(cut -d, -f1-4 one/metrics.csv) <(cut -d, -f1-4 "$1/metrics.csv"); }
for way in "8" "16" "8 --parts 4" "16 --parts 2"; do
  read -r ranks parts <<<"$way"
  rm -rf many
  $launch "$ranks" "$dkho" train "${options[@]}" $parts -o many --quiet >/dev/null 2>err || { cat err; exit 1; }
  same many
done
