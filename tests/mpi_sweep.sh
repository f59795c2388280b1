#!/usr/bin/env bash
# `dkho sweep` under MPI's launcher: the ranks take the runs in turn, the table and the models are those of one process; a run that was lost or stopped is made by the
# next call, and only that. Usage: mpi_sweep.sh BUILD "LAUNCHER -n"
set -euo pipefail
dkho=$1/dkho launch=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" data darcy --resolution smoke --samples 24 -o data.st --quiet
cat >s.json <<'S'
{"data": "data.st", "fixed": {"epochs": 1, "h": 6, "c": 2, "layers": 2, "substeps": 1, "target": "q"}, "over": {"seed": [1, 2, 3]}}
S
table() { cut -d, -f1-4 "$1/table.csv"; } # without seconds
"$dkho" sweep s.json -o one --threads 1 --quiet >/dev/null 2>&1
$launch 2 "$dkho" sweep s.json -o two --threads 1 --quiet >out 2>err || { cat err; exit 1; }
[ "$(wc -l <two/table.csv)" = 4 ]
diff <(table one) <(table two)
for seed in 1 2 3; do
  cmp one/seed=$seed/best.st two/seed=$seed/best.st
  [ "$(grep -c "^dkho: seed=$seed (" err)" = 1 ]
done
# one begun run and one that is missing, by another number of ranks
rm -r two/seed=2 two/table.csv two/seed=3/result.json
before=$(stat -c %y two/seed=1/result.json)
$launch 3 "$dkho" sweep s.json -o two --threads 1 --quiet >out 2>err || { cat err; exit 1; }
[ "$(grep -c ' of 3)' err)" = 2 ] && [ "$before" = "$(stat -c %y two/seed=1/result.json)" ]
diff <(table one) <(table two)
for seed in 1 2 3; do cmp one/seed=$seed/best.st two/seed=$seed/best.st; done
# a failure of one run is told and ends with status 1; the others are trained
echo '{"data": "data.st", "fixed": {"epochs": 1, "h": 6, "c": 2, "layers": 2}, "over": {"target": ["q", "nothing", "p"]}}' >bad.json
if $launch 2 "$dkho" sweep bad.json --threads 1 --quiet >out 2>err; then exit 1; fi
grep -q "no target is called nothing\|nothing" err
[ -f bad/target=q/result.json ] && [ -f bad/target=p/result.json ] && [ ! -e bad/target=nothing/result.json ]
