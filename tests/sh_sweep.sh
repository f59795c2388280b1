#!/usr/bin/env bash
# A sweep trains every combination, as separate trainings would; parts and restarts end with the same table; what is finished stays; wrong specifications are refused by name.
set -euo pipefail
dkho=$2/dkho
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" data darcy --resolution smoke --samples 24 -o data.st --quiet
cat >s.json <<'S'
{"data": "data.st", "fixed": {"epochs": 1, "h": 6, "c": 2, "layers": 2, "substeps": 1, "target": "q"},
 "over": {"target": ["p", "q"], "seed": [1, 2]}}
S
"$dkho" sweep s.json --threads 1 --quiet 2>/dev/null | grep -q '^s/table.csv: 4 of 4 runs'
"$dkho" train --data data.st --target q --seed 2 --epochs 1 --h 6 --c 2 --layers 2 --substeps 1 --threads 1 -o alone --quiet >/dev/null
cmp alone/best.st s/target=q,seed=2/best.st
# with a model to begin with
echo '{"data": "data.st", "fixed": {"epochs": 1, "target": "q", "from": "alone"}, "over": {"seed": [2]}}' >f.json
"$dkho" sweep f.json --threads 1 --quiet >/dev/null 2>&1
"$dkho" train --data data.st --target q --seed 2 --epochs 1 --from alone --threads 1 -o further --quiet >/dev/null
cmp further/best.st f/seed=2/best.st
# cells of the table with commas and quotes stand in quotes
ln -s alone 'a,"b'
echo '{"data": "data.st", "fixed": {"epochs": 1, "target": "q"}, "over": {"from": ["a,\"b"]}}' >q.json
"$dkho" sweep q.json --threads 1 --quiet >/dev/null 2>&1
grep -q '^"a,""b",[0-9]*,' q/table.csv
# in parts, one of them begun again
for part in 1 0; do "$dkho" sweep s.json -o parts --threads 1 --tasks 2 --part $part --quiet >/dev/null 2>&1; done
rm parts/target=p,seed=1/result.json
before=$(stat -c %y parts/target=p,seed=2/result.json)
"$dkho" sweep s.json -o parts --threads 1 --quiet 2>err >/dev/null
[ "$(grep -c ' of 4)' err)" = 1 ] && [ "$before" = "$(stat -c %y parts/target=p,seed=2/result.json)" ]
diff <(cut -d, -f1-5 s/table.csv) <(cut -d, -f1-5 parts/table.csv)
diff s/table.csv <("$dkho" sweep s.json --table)
"$dkho" sweep s.json -o array --slurm a.sh --tasks 2 | grep -q '2 tasks for 4 runs'
bash -n a.sh && grep -q -e '--array=0-1$' a.sh && [ ! -e array ]
refuses() { echo "$1" >bad.json; if "$dkho" sweep bad.json --quiet 2>err >/dev/null; then echo "accepted: $1"; exit 1; fi; grep -q "bad.json: .*$2" err; }
refuses '{"data": "data.st"}' over
refuses '{"over": {"seed": [1]}}' data
refuses '{"data": "data.st", "over": {"seed": []}}' list
refuses '{"data": "data.st", "over": {"seed": ["x"]}}' seed
refuses '{"data": "data.st", "ower": 1, "over": {"seed": [1]}}' keys
refuses '{' 'expected'
refuses '{"data": "data.st", "over": {"seed": [1]}, "over": {"seed": [2]}}' duplicate
refuses '{"data": "data.st", "fixed": [1], "over": {"seed": [1]}}' fixed
refuses '{"data": "data.st", "over": {"seed": [1, 2, "1"]}}' 'same value twice'
refuses '{"data": "data.st", "over": {"epochs": [4294967297]}}' epochs
refuses '{"data": "data.st", "over": {"h": [[1]]}}' 'expected numbers'
refuses '{"data": "data.st", "over": {"target": ["'"$(printf 'x%.0s' {1..64})"'"]}}' 'at most 63 bytes'
refuses '{"data": "data.st", "over": {"'"$(printf 'x%.0s' {1..251})"'": [1]}}' 'more than 250 bytes'
# names that are paths lead nowhere, and no two combinations share a folder
mkdir -p deep/er
cat >deep/er/paths.json <<'S'
{"data": "data.st", "over": {"target": ["../../x", "..", "/tmp/x", "a b", "a_b", "a/b", "%2F", "x\ny"], "../h": [1]}}
S
find . -not -path './deep*' -not -name err | sort >deep/before
"$dkho" sweep deep/er/paths.json --quiet >/dev/null 2>err && exit 1
grep -q "target=a%20b,..%2Fh=1" err && grep -q "target=a%2Fb,..%2Fh=1" err && grep -q "target=%252F" err
find . -not -path './deep*' -not -name err | sort | diff deep/before - && [ "$(ls deep)" = $'before\ner' ] && [ "$(ls deep/er)" = $'paths\npaths.json' ]
