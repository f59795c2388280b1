#!/usr/bin/env bash
# Ranks that are killed or stop dead at random moments: the job ends within 30 s, the message of the launcher or of dkho names the rank (MPICH's: process and machine),
# and the restart, on another number of ranks, ends with the bits of an undisturbed run. LOST=50 for the long form.
# Usage: mpi_lost.sh BUILD "LAUNCHER -n"
set -euo pipefail
dkho=$1/dkho launch=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
export DKHO_MPI_SILENCE=${DKHO_MPI_SILENCE:-5}
"$dkho" data darcy --resolution smoke --samples 40 -o data.st --quiet
options=(--data data.st --target 1 --h 6 --c 2 --layers 2 --substeps 1 --epochs 60 --batch 6 --threads 1 --checkpoint-seconds 0.05 --quiet)
"$dkho" train "${options[@]}" -o one >/dev/null
ranks_of() { pgrep -f "^$dkho train.*-o $work/$1" || true; }
for turn in $(seq "${LOST:-2}"); do
  rm -rf run
  n=$((2 + turn % 3))
  signal=KILL; [ $((turn % 2)) = 0 ] && signal=STOP
  $launch $n "$dkho" train "${options[@]}" -o "$work/run" --quiet >err 2>&1 & job=$!
  for i in $(seq 300); do [ -f run/last.st ] && break; sleep 0.1; done
  sleep 0.$((RANDOM % 10))
  mapfile -t pids < <(ranks_of run)
  if [ ${#pids[@]} -gt 0 ]; then
    began=$(date +%s)
    kill -$signal "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null || true
    status=0; wait $job || status=$?
    took=$(($(date +%s) - began))
    [ $took -le 30 ] || { echo "turn $turn: the job took $took s to end"; exit 1; }
    if [ $status != 0 ]; then grep -qiE 'rank|PID [0-9]+ RUNNING AT' err || { echo "turn $turn: nobody is named:"; cat err; exit 1; }; fi
    echo "turn $turn: $signal to one of $n ranks: status $status after $took s"
  else
    wait $job || true
  fi
  [ -z "$(ranks_of run)" ] || { echo "turn $turn: processes are left"; exit 1; }
  $launch $((1 + turn % 2)) "$dkho" train --resume run --threads 1 --quiet >/dev/null 2>err || { cat err; exit 1; }
  cmp one/best.st run/best.st
done
