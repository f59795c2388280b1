#!/usr/bin/env bash
# A run gives the same bits for any number of threads, stopped and resumed, killed and resumed. KILLS=200 for the long form.
set -euo pipefail
dkho=$2/dkho
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
kills=${KILLS:-6}
"$dkho" data darcy --resolution smoke --samples 40 -o data.st --quiet >/dev/null
options=(--data data.st --target 1 --h 6 --c 2 --layers 2 --substeps 1 --epochs 4 --batch 4 --checkpoint-seconds 0.05 --quiet)
train() { "$dkho" train "${options[@]}" "$@" >/dev/null; }
# what must not change: the selected model, the history but for its clock, the result but for its clock
same() {
  cmp "$1/best.st" reference/best.st
  diff <(cut -d, -f1-4 "$1/metrics.csv") <(cut -d, -f1-4 reference/metrics.csv)
  diff <(grep -v seconds "$1/result.json") <(grep -v seconds reference/result.json)
}
began=$(date +%s%N)
train -o reference --threads 1
span=$((($(date +%s%N) - began) / 1000000)) # milliseconds of an undisturbed run
for threads in 2 5; do train -o "t$threads" --threads $threads; same "t$threads"; done
# the checkpoint written by a signal, at three places of a run, one of which at least must be met
stopped=0
for part in 2 5 8; do
  delay=$(printf '0.%03d' $((span * part / 10 > 999 ? 999 : span * part / 10)))
  rm -rf stop; status=0
  "$dkho" train "${options[@]}" -o stop >/dev/null 2>err & pid=$!
  sleep $delay; kill -INT $pid 2>/dev/null || true; wait $pid || status=$?
  if [ $status = 1 ]; then grep -q 'the checkpoint is written' err; stopped=$((stopped + 1)); fi
  [ -f stop/config.json ] || train -o stop
  "$dkho" train --resume stop --quiet >/dev/null
  same stop
done
[ $stopped -gt 0 ]
# killed without warning, as often as it takes to finish; every resume must work
killed=0 finished=0
while [ $killed -lt "$kills" ]; do
  rm -rf run
  while :; do
    if [ -f run/config.json ]; then "$dkho" train --resume run --quiet >/dev/null 2>err & pid=$!
    else "$dkho" train "${options[@]}" -o run >/dev/null 2>err & pid=$!; fi
    wait_ms=$((RANDOM % span + 5))
    sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
    kill -KILL $pid 2>/dev/null || true
    status=0; wait $pid 2>/dev/null || status=$?
    if [ $status = 137 ]; then killed=$((killed + 1)); continue; fi
    if [ $status != 0 ]; then cat err; exit 1; fi
    break
  done
  finished=$((finished + 1))
  same run
  if ls run | grep '\.tmp\.'; then exit 1; fi
done
echo "killed $killed times, finished $finished runs, all the same bits"
# the other optimisers and schedules: stopped by a signal, killed, resumed, on another number of threads
for how in "muon linear" "soap cosine_step"; do
  extra=(--optimizer ${how% *} --schedule ${how#* } --ema 0.9 --warmup 5)
  rm -rf plain cut; train "${extra[@]}" -o plain --threads 1
  for signal in INT KILL KILL; do
    if [ -f cut/config.json ]; then "$dkho" train --resume cut --threads 2 --quiet >/dev/null 2>&1 & pid=$!
    else "$dkho" train "${options[@]}" "${extra[@]}" -o cut >/dev/null 2>&1 & pid=$!; fi
    sleep "0.$((RANDOM % 4 + 1))"; kill -$signal $pid 2>/dev/null || true; wait $pid 2>/dev/null || true
  done
  if [ -f cut/config.json ]; then "$dkho" train --resume cut --quiet >/dev/null; else train "${extra[@]}" -o cut; fi
  cmp cut/best.st plain/best.st
  if cmp -s plain/best.st reference/best.st; then echo "${how% *} made no difference"; exit 1; fi
  diff <(cut -d, -f1-4 cut/metrics.csv) <(cut -d, -f1-4 plain/metrics.csv)
  grep -q "\"optimizer\": \"${how% *}\"" plain/config.json
done
# the default and the paper's optimiser, each with its rate
train -o paper --optimizer adamw
rates() { for key in batch lr optimizer; do sed -n "s/,$//; s/^  \"$key\": //p" "$1/config.json"; done | paste -sd ' '; }
[ "$(rates reference)" = '4 0.01 "muon"' ] && [ "$(rates paper)" = '4 0.001 "adamw"' ] || { rates reference; rates paper; exit 1; }
for how in muon adamw; do
  "$dkho" train --data data.st --target 1 --h 6 --c 2 --layers 2 --substeps 1 --epochs 1 --optimizer $how --quiet -o batch-$how >/dev/null
done
[ "$(rates batch-muon)" = '4 0.01 "muon"' ] && [ "$(rates batch-adamw)" = '16 0.001 "adamw"' ] || { rates batch-muon; rates batch-adamw; exit 1; }
# a run of a version that knew no other optimiser goes on as it began; another optimiser's checkpoint is refused
"$dkho" train "${options[@]}" --optimizer adamw -o old >/dev/null 2>&1 & pid=$!
sleep 0.3; kill -INT $pid 2>/dev/null || true; wait $pid 2>/dev/null || true
[ -f old/config.json ] || train --optimizer adamw -o old
sed -i '/"optimizer"/d; s/"schedule": "cosine"/"unused": 0/' old/config.json
"$dkho" train --resume old --quiet >/dev/null
cmp old/best.st paper/best.st
rm plain/result.json; sed -i 's/"soap"/"adamw"/' plain/config.json
if "$dkho" train --resume plain --quiet >/dev/null 2>err; then exit 1; fi
grep -q 'was written by soap' err
# other files in the folder of a run are not its leftovers; a history without a checkpoint is not begun anew
mkdir beside; touch beside/notes.tmp.3 beside/last.st.tmp.7
train -o beside
[ -e beside/notes.tmp.3 ]
[ ! -e beside/last.st.tmp.7 ]
rm beside/last.st beside/result.json
before=$(cksum <beside/best.st)
if "$dkho" train --resume beside --quiet >/dev/null 2>err; then exit 1; fi
grep -q 'no checkpoint (last.st) to go on from' err
[ "$before" = "$(cksum <beside/best.st)" ]
if "$dkho" train --resume reference --epochs 9 --quiet >/dev/null 2>err; then exit 1; fi
grep -q -- '--epochs: a run that is resumed keeps its own settings' err
grep -q '"kernels": "' reference/manifest.json
grep -q '"blas": "' reference/manifest.json
# a run is never overwritten; resuming a finished one changes nothing
if train -o reference 2>err; then exit 1; fi
grep -q 'holds a run already' err
mkdir own; echo mine >own/metrics.csv
if train -o own 2>err; then exit 1; fi
grep -q 'own/metrics.csv: is there already' err
[ "$(ls own; cat own/metrics.csv)" = "$(printf 'metrics.csv\nmine')" ]
before=$(stat -c %Y.%s reference/best.st); "$dkho" train --resume reference --quiet >/dev/null
[ "$before" = "$(stat -c %Y.%s reference/best.st)" ]
# other data are refused
"$dkho" data darcy --resolution smoke --samples 41 -o other.st --quiet >/dev/null
if "$dkho" eval reference --data other.st 2>err; then exit 1; fi
grep -q 'was made on data with hash' err
echo "1 passed, 0 failed"
