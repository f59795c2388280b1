#!/usr/bin/env bash
# Ranks that are killed, stop dead or hang (their main thread held in the sync of a file, all others alive) at random moments, with and without --parts: the job ends
# within 30 s, the message of the launcher or of dkho names the rank (MPICH's: process and machine), and the restart, on another number of ranks, ends with the bits of an
# undisturbed run. The same for a rank that makes a data set, of which then nothing is left. Ranks that work or wait for long are left alone. LOST=50 for the long form.
# Usage: mpi_lost.sh BUILD "LAUNCHER -n"; HANG_LIB: the library made of hang.c
set -euo pipefail
dkho=$1/dkho launch=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" data darcy --resolution smoke --samples 40 -o data.st --quiet
options=(--data data.st --target 1 --h 6 --c 2 --layers 2 --substeps 1 --epochs 60 --batch 6 --threads 1 --checkpoint-seconds 0.05 --quiet)
"$dkho" train "${options[@]}" -o one >/dev/null
ranks_of() { pgrep -f "^$dkho .*-o $work/$1" || true; }
# the silence of the tests, but once the default
silent() { if [ "$1" = 5 ]; then unset DKHO_MPI_SILENCE; else export DKHO_MPI_SILENCE=8; fi; }
kinds=(KILL STOP HANG KILL HANG STOP)
for turn in $(seq "${LOST:-5}"); do
  rm -rf run go
  silent "$turn"
  kind=${kinds[(turn - 1) % 6]} n=$((2 + turn % 3)) parts=() lost=$((RANDOM % n)) hang=
  if [ $turn -gt 3 ] && [ $((turn / 6 % 2)) = 0 ]; then parts=(--parts $((n == 4 ? 2 : n))); fi
  [ $kind = HANG ] && hang="env LD_PRELOAD=$HANG_LIB HANG_WHEN=$work/go HANG_RANK=$lost"
  $launch $n $hang "$dkho" train "${options[@]}" "${parts[@]}" -o "$work/run" --quiet >err 2>&1 & job=$!
  for i in $(seq 300); do [ -f run/last.st ] && break; sleep 0.1; done
  sleep 0.$((RANDOM % 10))
  mapfile -t pids < <(ranks_of run)
  if [ ${#pids[@]} -gt 0 ]; then
    began=$(date +%s)
    if [ $kind = HANG ]; then touch go; else kill -$kind "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null || true; fi
    status=0; wait $job || status=$?
    took=$(($(date +%s) - began))
    [ $took -le 30 ] || { echo "turn $turn: the job took $took s to end"; exit 1; }
    named='rank|PID [0-9]+ RUNNING AT'
    [ $kind = HANG ] && named="rank $lost \\(.*process [0-9]+\\) hangs"
    if [ $status != 0 ]; then grep -qiE "$named" err || { echo "turn $turn: nobody is named:"; cat err; exit 1; }; fi
    echo "turn $turn: $kind of one of $n ranks ${parts[*]}: status $status after $took s"
  else
    wait $job || true
  fi
  [ -z "$(ranks_of run)" ] || { echo "turn $turn: processes are left"; exit 1; }
  $launch $((1 + turn % 2)) "$dkho" train --resume run --threads 1 --quiet >/dev/null 2>err || { cat err; exit 1; }
  cmp one/best.st run/best.st
done
# a data set, on a file system that is stuck for one rank; what the dead leave behind goes with the next attempt
touch go
export DKHO_MPI_SILENCE=5
if $launch 3 env LD_PRELOAD="$HANG_LIB" HANG_WHEN="$work/go" HANG_RANK=2 "$dkho" data darcy --resolution smoke --samples 40 -o made.st --threads 1 --quiet >err 2>&1; then exit 1; fi
grep -qE 'rank 2 \(.*\) hangs' err
[ ! -e made.st ]
$launch 2 "$dkho" data darcy --resolution smoke --samples 40 -o made.st --threads 1 --quiet
cmp data.st made.st
[ "$(ls -d made.st*)" = made.st ]
# nobody is impatient with a rank that works
DKHO_MPI_SILENCE=3 DKHO_MPI_PATIENCE=0.01 $launch 2 "$dkho" data cavity --resolution main --samples 3 -o long.st --threads 1 --quiet
