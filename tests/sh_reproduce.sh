#!/usr/bin/env bash
# From nothing to tables and figures; what is finished is kept, what was stopped goes on to the same figures; what is not there
# is refused with what is. Usage: sh_reproduce.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
dkho=$2/dkho; source_dir=$1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
tiny=(--budget smoke --samples 20 --epochs 2 --quiet)
refuse() { # TEXT COMMAND…: fails, and says TEXT
  local text=$1; shift
  if "$@" >out 2>err; then echo "accepted: $*" >&2; exit 1; fi
  grep -qF "$text" err || { echo "expected '$text', found:" >&2; cat err >&2; exit 1; }
}
refuse "unknown problem 'stokes'; there are darcy" "$dkho" reproduce stokes -o d
refuse "there are smoke, demo, quick, paper" "$dkho" reproduce darcy --budget lavish -o d
refuse "it has p, q, w" "$dkho" reproduce darcy --target z -o d
refuse "there are small, large, both" "$dkho" reproduce darcy --size huge -o d
refuse "has no figure 'pie'; it has training, fields, parameters, phase" "$dkho" reproduce darcy --figures fields,pie -o d
refuse "has no figure 'ablations'; it has training, fields, phase" "$dkho" reproduce heat --figures ablations -o d
refuse "has no figure 'parameters'; it has training, fields, models, ablations, phase" \
  "$dkho" reproduce heat --ablations --figures parameters -o d
[ ! -e d ] # nothing was begun
mkdir own && echo mine >own/table.md
refuse "own/table.md: is there already" "$dkho" reproduce darcy "${tiny[@]}" -o own
[ "$(ls own; cat own/table.md)" = "$(printf 'table.md\nmine')" ]

"$dkho" reproduce darcy "${tiny[@]}" -o d
for part in table.md table.csv result.json darcy/result.json darcy/data.st darcy/honest-p.json darcy/pair-small.json \
  figures/darcy-{training,fields,parameters,phase}.{png,svg,pdf}; do [ -s "d/$part" ] || { echo "no $part"; exit 1; }; done
grep -q '^| DKHO-large | paper | 243363 .* 0.0155 ' d/table.md
grep -q '^| DKHO-small | ours, 2 epochs | 64475 ' d/table.md
grep -q '^| ridge | ours ' d/table.md
grep -q 'contradict each other' d/table.md
# the paper's three cases stand before ours, in the order of its table
[ "$(grep -A7 '^| source | test sample ' d/table.md | sed -n '3,5p' | tr -s ' ')" = "| paper | - | 0.524 | 2.18 | 1.47 | 0.541 | 0.0197 |
| paper | - | 0.512 | 2.13 | 1.46 | 0.510 | 0.0195 |
| paper | - | 0.506 | 2.11 | 1.46 | 0.498 | 0.0164 |" ]
[ "$(grep -cE '^\| ours +\| +[0-9]+ \| +[01]\.[0-9]{3} ' d/table.md)" = 3 ]
grep -q 'pays after solves' d/table.md
grep -q '^darcy,q,1,DKHO-small,ours,smoke,64475,curl_fid,' d/table.csv
# again: nothing is trained or judged twice
before=$(stat -c %Y.%i d/darcy/data.st d/darcy/runs/*/best.st d/darcy/honest-*.json d/darcy/phase-*.json)
"$dkho" reproduce darcy "${tiny[@]}" -o d
[ "$before" = "$(stat -c %Y.%i d/darcy/data.st d/darcy/runs/*/best.st d/darcy/honest-*.json d/darcy/phase-*.json)" ]
refuse "choose another folder" "$dkho" reproduce darcy --budget smoke --samples 24 -o d
# kept figures without their models are left as they are
mkdir kept && cp -r d/. kept && rm kept/darcy/data.st kept/darcy/runs/*/*.st kept/figures/*
refuse "has a result.json but no best.st" "$dkho" reproduce darcy "${tiny[@]}" -o kept
[ -s kept/darcy/phase-w-small.json ]
[ ! -e kept/darcy/data.st ]
# what it will take is said before the training
"$dkho" reproduce heat --target u --figures training --budget smoke --samples 20 --epochs 1 -o said >/dev/null 2>err
grep -qE '^heat, budget smoke: 1 of 1 runs to train on [0-9]+ samples, about [0-9]+ s$' err

# stopped half-way and taken up again: the same figures
"$dkho" reproduce torus --target u --ablations "${tiny[@]}" -o whole
stopped=0
for delay in 0.3 1 2; do
  timeout -s INT $delay "$dkho" reproduce torus --target u --ablations "${tiny[@]}" -o parts 2>err || stopped=$((stopped + 1))
done
[ $stopped -gt 0 ]
"$dkho" reproduce torus --target u --ablations "${tiny[@]}" -o parts
cmp whole/table.csv parts/table.csv
for name in ablations models-u; do [ -s whole/figures/torus-$name.png ]; done
# only the figures that are asked for, and "n/a" where what a metric refers to vanishes: the flux of heat is a gradient
"$dkho" reproduce heat --target q --figures training "${tiny[@]}" -o heat
[ "$(ls heat/figures)" = "$(printf 'heat-training.%s\n' pdf png svg)" ]
grep -q '^| DKHO-small | ours, 2 epochs .* n/a ' heat/table.md
grep -q '^heat,q,1,DKHO-small,ours,smoke,[0-9]*,curl_fid,$' heat/table.csv
grep -q '"curl_fid": null' heat/result.json
"$dkho" eval heat/heat/runs/q-small --quiet | grep '^curl_fid *n/a$' >found
grep -q '^| u | DKHO-small, no_phase | adamw, cosine, lr 0.001, batch 16 | 2 (best ' whole/table.md
# variants that are there stay in the table of a later call; another optimiser is another study
"$dkho" reproduce torus --target u "${tiny[@]}" -o whole
grep -q '^| DKHO-small, no_phase | ours' whole/table.md
refuse "choose another folder" "$dkho" reproduce torus --target u --optimizer muon "${tiny[@]}" -o whole
refuse "expected 0 … 65536" "$dkho" reproduce torus --batch 65537 -o other
[ ! -e other ]
"$dkho" reproduce torus --target u --optimizer muon --lr 0.01 --schedule linear --batch 8 "${tiny[@]}" -o other
grep -q '^| u | DKHO-small | muon, linear, lr 0.01, batch 8 | 2 (best ' other/table.md
grep -q '^| rotated | ours ' whole/table.md

# one results file of a folder, and a card that repeats the cost measured with its run
run=whole/torus/runs/u-small
if command -v python3 >/dev/null; then
  "$source_dir/tools/collect_results.py" whole -o whole.json
  python3 -c 'import json
d = json.load(open("whole.json")); p = d["problems"][0]; rows = p["targets"][0]["rows"]
assert sorted(r["run"] for r in d["runs"]) == sorted(r["run"] for r in rows if "run" in r) and len(d["runs"]) > 1
assert all(r["manifest"]["commit"] and len(r["curve"]["val_rel_l2"]) == r["config"]["epochs"] for r in d["runs"])
assert not any(r["source"] == "paper" for r in rows) and p["phase"]["population"]["above_chance"] <= 1'
fi
mkdir packed; "$dkho" pack $run -o packed/u.st --quiet
cost=$(sed -n 's/.*"learned_seconds_per_sample": \([^,]*\),.*/\1/p' $run/cost.json)
grep -qF "\"learned_seconds_per_sample\": $cost" packed/u.json

# eval and phase on what was trained
refuse "it has mse, rel_l2" "$dkho" eval $run --metric curl_fid
"$dkho" eval $run $run-no_phase --metric rel_l2 --honest --quiet >out
[ "$(grep -c rel_l2 out)" = 1 ]
grep -q 'rotated.*ridge' out
"$dkho" eval d/darcy/runs/q-small d/darcy/runs/w-small --pair --quiet | grep '^pair ' >found
refuse "neighbouring degrees" "$dkho" eval d/darcy/runs/w-small d/darcy/runs/q-small --pair
for threads in 1 3; do "$dkho" phase $run --json --threads $threads >phase$threads; done
cmp phase1 phase3
if "$dkho" phase $run --zero-diagonal --json | cmp -s - phase1; then echo "the diagonal made no difference"; exit 1; fi
refuse "applies no corrections to degree" "$dkho" phase $run-no_phase
refuse "expected a fraction" "$dkho" phase $run --q 1.5
refuse "is not a number" "$dkho" phase $run --q nan
refuse "judges on the test split" "$dkho" eval $run --split val --honest
echo "1 passed, 0 failed"
