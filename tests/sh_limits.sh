#!/usr/bin/env bash
# Under a limit on address space every verb ends: with its result, or with a message about memory. OpenBLAS waits for ever where it gets
# none (cli/start.c, src/la/blas_threads.c). Also: the tool starts itself with BLAS held to one thread and passes everything else on.
set -euo pipefail
dkho=$2/dkho
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
# arguments, environment and status arrive unchanged; other settings of the variable are replaced
status=0; "$dkho" 'no such' '' 2>err || status=$?
[ $status = 2 ]; grep -q "unknown verb 'no such'" err
for value in 1 3 ''; do OPENBLAS_NUM_THREADS=$value "$dkho" --version >version; grep -q . version; done
env -i "$dkho" --version >version; grep -q . version
if grep -q 'DKHO_SANITIZE:BOOL=ON' "$2/CMakeCache.txt"; then exit 0; fi # AddressSanitizer maps terabytes
"$dkho" data torus --resolution smoke --samples 8 -o data.st --quiet
finished=0 refused=0
limited() { # KILOBYTES COMMAND…: 0 or 1 and a line that names the cause, never a wait
  local limit=$1 status=0; shift
  (ulimit -v "$limit"; exec timeout 60 "$@" >out 2>err) || status=$?
  if [ $status = 0 ]; then finished=$((finished + 1)); return 0; fi
  [ $status = 1 ] || { echo "limit $limit, $*: status $status"; cat err; exit 1; }
  grep -qE 'memory|room|address space|cannot start [0-9]+ threads' err || { echo "limit $limit: no cause"; cat err; exit 1; }
  refused=$((refused + 1))
}
for limit in 80000 150000 230000 700000; do
  limited $limit "$dkho" data torus --resolution smoke --samples 4 -o "d$limit.st" --threads 2
  rm -rf run
  limited $limit "$dkho" train --data data.st --target 0 --epochs 1 --h 4 --c 2 --layers 1 --optimizer soap -o run --threads 2 --quiet
done
[ $finished -ge 2 ] && [ $refused -ge 4 ]
