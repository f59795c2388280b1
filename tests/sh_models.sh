#!/usr/bin/env bash
# Every model under models/ predicts a few of its test samples, made again here, as its card says. Before that a model trained
# here shows that the check can fail: a weight, the card, or the mesh's memory changed is found out.
set -euo pipefail
source_dir=$1 dkho=$2/dkho
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" data torus --resolution smoke --samples 24 -o data.st --quiet >/dev/null
"$dkho" train --data data.st --target 1 --h 8 --layers 2 --epochs 2 -o run --quiet >/dev/null
mkdir models
"$dkho" pack run -o models/a.st --quiet >/dev/null
[ "$(ls models)" = $'a.json\na.st' ] # what was asked for, and nothing else
refused() { # words command…
  local words=$1; shift
  if "$@" >/dev/null 2>err; then echo "accepted: $*"; exit 1; fi
  grep -q -- "$words" err || { echo "expected '$words' from $*:"; cat err; exit 1; }
}
# the packed file does what the run does, without the run or its data, and stays what it is when saved again
"$dkho" check models/a.st | grep 'as its card says' >found
"$dkho" info models/a.st | grep 'best_epoch' >found
"$dkho" pack run -o models/a.st --force --table --quiet >/dev/null
grep -q '^| a | torus q |' models/README.md
[ "$(stat -c %s models/a.st)" -lt "$(($(stat -c %s run/best.st) / 4))" ]
"$dkho" predict run --data data.st -o of_run.st --quiet >/dev/null
"$dkho" predict models/a.st --data data.st -o of_file.st --quiet >/dev/null
cmp of_run.st of_file.st
"$dkho" predict models/a.st --data data.st --limit 1 -o 'of "it".st' --json >found
grep -qF '"of \"it\".st"' found
"$dkho" data torus --resolution smoke --samples 9 -o fewer.st --quiet >/dev/null
"$dkho" eval models/a.st --data fewer.st --honest | grep ridge >found
"$dkho" phase models/a.st --data fewer.st --limit 2 --quiet | grep Dice >found
scores() { "$dkho" eval "$@" | tail -n +2 | grep -v ', s '; } # without the clock
diff <(scores models/a.st --data data.st) <(scores run)
refused 'name the data set' "$dkho" eval models/a.st
refused 'exists already; it is kept (--force replaces it)' "$dkho" pack run -o models/a.st
refused 'ends in .st' "$dkho" pack run -o models/a.bin
# what others wrote beside it is left alone, and a card is kept until there is another
mkdir own && echo mine >own/README.md && echo '[]' >own/list.json && echo '{' >own/broken.json && cp own/list.json own/b.json
refused 'own/b.json: exists already' "$dkho" pack run -o own/b.st
refused 'no finished run\|nowhere' "$dkho" pack nowhere -o models/a.st --force
refused 'own/README.md: was written by somebody else' "$dkho" pack run -o own/a.st --table --quiet
[ "$(cat own/README.md)" = mine ]
cmp own/list.json own/b.json
grep -q hash models/a.json
"$dkho" check models/a.st own/a.st --quiet >found
# what must be found out
spoil() { # file offset-from-end: eight bytes there become 1.0, 1.0
  local at=$(($(stat -c %s "$1") - $2))
  printf '\0\0\200\077\0\0\200\077' | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}
unseal() { LC_ALL=C sed -i 's/"dkho.hash"/"dkho.hush"/' "$1"; } # as a file of a version that wrote no hash
cp models/a.st b.st; spoil b.st 8
refused "b.st: dkho.hash: .*the file is damaged" "$dkho" check b.st
unseal b.st
refused 'its card says' "$dkho" check b.st
cp models/a.st c.st; spoil c.st 8; unseal c.st; cp models/a.json c.json
refused 'its card says' "$dkho" check c.st
cp models/a.st d.st; sed 's/"hash": "./"hash": "-/' models/a.json >d.json
refused 'content hash is' "$dkho" check d.st
at=$(head -c 200000 models/a.st | grep -obUa '"c0/check/x"' | sed -n 1p | cut -d: -f1)
[ -n "$at" ]
header=$(od -An -t u8 -N 8 models/a.st | tr -d ' ')
start=$(dd if=models/a.st bs=1 skip="$at" count=200 status=none | sed -n 's/.*data_offsets":\[\([0-9]*\).*/\1/p' | sed -n 1p)
cp models/a.st e.st; spoil e.st "$(($(stat -c %s e.st) - 8 - header - start))"; unseal e.st
refused 'made here is not the one the model was trained with' "$dkho" check e.st
cp models/a.st f.st; sed -i 's/\(dkho.topology":"\)./\1-/' f.st; unseal f.st
refused 'is not the one the model was trained on' "$dkho" check f.st
head -c 1000 models/a.st >g.st
refused 'g.st' "$dkho" check g.st
refused 'was not written by' "$dkho" check run/best.st
rm run/result.json
refused 'no finished run' "$dkho" pack run -o models/z.st
# what is shipped
shopt -s nullglob
shipped=("$source_dir"/models/*.st)
if [ ${#shipped[@]} = 0 ]; then echo "no models under models/"; else "$dkho" check "${shipped[@]}" --quiet; fi
echo "1 passed, 0 failed"
