#!/usr/bin/env bash
# The tool under MPI's launcher: data, training and evaluation on several ranks give the files of one process; the first line of the log
# says how many ranks; verbs that are not shared run once; SIGTERM ends a job with a checkpoint and status 75, and another number of
# ranks continues it to the same bits. Usage: mpi_train.sh BUILD "LAUNCHER -n"
set -euo pipefail
dkho=$1/dkho launch=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" data darcy --resolution smoke --samples 40 -o data.st --quiet
$launch 3 "$dkho" data darcy --resolution smoke --samples 40 -o shared.st --threads 1 --quiet
cmp data.st shared.st
diff <("$dkho" models) <($launch 2 "$dkho" models 2>/dev/null)
options=(--data data.st --target 1 --h 6 --c 2 --layers 2 --substeps 1 --epochs 3 --batch 6 --threads 1)
"$dkho" train "${options[@]}" -o one --quiet >/dev/null
same() { cmp one/best.st "$1/best.st"; diff <(cut -d, -f1-4 one/metrics.csv) <(cut -d, -f1-4 "$1/metrics.csv"); }
$launch 3 "$dkho" train "${options[@]}" -o three >out 2>err
head -1 err | grep -q '^dkho: 3 ranks ('
same three
diff <("$dkho" eval one --json | grep -v -e seconds -e '"run"') <($launch 2 "$dkho" eval three --json --threads 1 2>/dev/null | grep -v -e seconds -e '"run"')
# weights to begin with, on every rank
"$dkho" train "${options[@]}" --from one -o further --quiet >/dev/null
$launch 3 "$dkho" train "${options[@]}" --from one/best.st -o further3 --quiet >/dev/null 2>&1
cmp further/best.st further3/best.st
if cmp -s further/best.st one/best.st; then echo "the weights to begin with made no difference"; exit 1; fi
# a request that every rank refuses is refused once
if $launch 2 "$dkho" train "${options[@]}" -o three 2>err; then exit 1; fi
[ "$(grep -c 'holds a run already' err)" = 1 ]
# what ranks cost each other: every figure is there, and no file is left
$launch 2 "$dkho" bench torus --mpi --resolution smoke --seconds 0.01 --json --quiet >bench.json 2>err || { cat err; exit 1; }
for key in latency_us bandwidth_gb_s peak_gflops; do grep -q "\"$key\": [0-9]" bench.json; done
[ "$(grep -c '"predicted_ms": [0-9]' bench.json)" = 6 ]
[ "$(ls -- *.tmp 2>/dev/null | wc -l)" = 0 ]
if $launch 2 "$dkho" bench --mpi --size small 2>err; then exit 1; fi
grep -q 'not on the ranks of an MPI job' err
# SIGTERM, as a scheduler sends it to all ranks
options+=(--checkpoint-seconds 0.05)
$launch 2 "$dkho" train "${options[@]}" --epochs 4000 -o "$work/long" >/dev/null 2>err & job=$!
for i in $(seq 300); do [ -f long/last.st ] && break; sleep 0.1; done
for rank in $(pgrep -f "^$dkho train.*-o $work/long"); do kill -TERM "$rank"; done
status=0; wait $job || status=$?
grep -q 'the checkpoint is written' err
[ $status = 75 ]
"$dkho" info long/last.st >/dev/null
