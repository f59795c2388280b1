#!/usr/bin/env bash
# Limits. Under one on address space every verb ends: with its result, or with a message about memory. OpenBLAS waits for ever where it gets
# none (cli/start.c, src/la/blas_threads.c). Also: the tool starts itself with BLAS held to one thread and passes everything else on.
set -euo pipefail
dkho=$2/dkho
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
# limits that the environment sets: refused by the variable's name, nothing left; a value that is no number allows nothing
refused() { # VARIABLE=VALUE PATTERN COMMAND…
  local setting=$1 pattern=$2 status=0; shift 2
  env "$setting" "$@" >out 2>err || status=$?
  [ $status = 1 ] && grep -qE "$pattern" err || { echo "$setting, $*: status $status"; cat err; exit 1; }
}
"$dkho" mesh torus --resolution smoke -o mesh.st --quiet >/dev/null
refused DKHO_LIMIT_MEMORY=0 'DKHO_LIMIT_MEMORY allows 0 MB' "$dkho" mesh mesh.st
refused DKHO_LIMIT_MEMORY=1 'DKHO_LIMIT_MEMORY allows 1 MB' "$dkho" data torus --resolution smoke --samples 4 -o refused.st
refused DKHO_LIMIT_FILE=0 'mesh.st: .*DKHO_LIMIT_FILE allows 0 MB' "$dkho" mesh mesh.st
refused DKHO_LIMIT_SIMPLICES=10 'wanted, but DKHO_LIMIT_SIMPLICES allows 10' "$dkho" mesh mesh.st
printf 'OFF 4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n' >square.off
refused DKHO_LIMIT_SIMPLICES=3 '4 wanted, but DKHO_LIMIT_SIMPLICES allows 3' "$dkho" mesh square.off -o refused.st
for value in many -1 '1 MB'; do refused "DKHO_LIMIT_FILE=$value" "DKHO_LIMIT_FILE: found '$value', expected a whole number" "$dkho" mesh square.off; done
DKHO_LIMIT_SIMPLICES=4 DKHO_LIMIT_FILE=1 DKHO_LIMIT_MEMORY=100 "$dkho" mesh square.off -o square.st >/dev/null
[ ! -e refused.st ]
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
