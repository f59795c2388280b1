#!/usr/bin/env bash
# `dkho train --tensorboard`: the event file holds the history; a run that was killed in the middle of a record goes on without a gap, and what a
# reader may have read stays as it is. The records are taken apart here by hand. Arguments: the source and the build directory.
set -euo pipefail
python=${PYTHON:-/usr/bin/python3}
build=$2
command -v "$python" > /dev/null || { echo "no Python: skipped"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
dkho=$build/dkho
cat > parse.py <<'PY'
import csv, struct, sys
def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8): crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
assert crc32c(b"123456789") == 0xe3069283
def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff
def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift; shift += 7; at += 1
        if data[at - 1] < 128: return value, at
def message(data):
    at, out = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0: value, at = varint(data, at)
        elif kind == 1: value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5: value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            assert kind == 2, kind
            size, at = varint(data, at); value, at = data[at:at + size], at + size
        out.append((tag >> 3, value))
    return out
def events(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        (size,), head = struct.unpack_from("<Q", data, at), data[at:at + 8]
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(head)
        body = data[at + 12:at + 12 + size]
        assert len(body) == size and struct.unpack_from("<I", data, at + 12 + size)[0] == masked(body)
        yield message(body)
        at += 16 + size
found = list(events(sys.argv[1] + "/events.out.tfevents.dkho"))
assert dict(found[0])[3] == b"brain.Event:2"
rows = list(csv.DictReader(open(sys.argv[1] + "/metrics.csv")))
assert len(rows) == len(found) - 1 == int(sys.argv[2]), (len(rows), len(found))
before = dict(found[0])[1]
single = lambda text: struct.unpack("<f", struct.pack("<f", float(text)))[0]
for row, event in zip(rows, found[1:]):
    e = dict(event)
    values = {dict(message(v))[1].decode(): dict(message(v))[2] for k, v in message(e[5])}
    assert e[2] == int(row["epoch"]) and e[1] > before
    before = e[1]
    for tag, column in (("rate", "lr"), ("rel_l2/train", "train_rel_l2"), ("rel_l2/val", "val_rel_l2")):
        assert abs(values[tag] - single(row[column])) <= 1e-6 * abs(values[tag]), (tag, values, row)
PY
"$dkho" data darcy --resolution smoke --samples 12 -o d.st > /dev/null
train() { "$dkho" train --data d.st --target p --set h=4 --set layers=1 --epochs 4 --threads 1 --quiet "$@" > /dev/null; }
train --tensorboard -o a
"$python" parse.py a 4
train -o plain
test ! -e plain/events.out.tfevents.dkho
cmp a/best.st plain/best.st

# killed in the middle of the last record: what was there before it stays, byte for byte
cp a/events.out.tfevents.dkho whole
rm a/result.json
head -c "$(($(stat -c %s whole) - 20))" whole > a/events.out.tfevents.dkho
"$dkho" train --resume a --quiet > /dev/null
cmp a/events.out.tfevents.dkho whole
# rows of epochs that the checkpoint does not know, and rubbish behind
rm a/result.json
{ cat whole; tail -c 100 whole; echo rubbish; } > a/events.out.tfevents.dkho
"$dkho" train --resume a --quiet > /dev/null
cmp a/events.out.tfevents.dkho whole
# lost altogether
rm a/result.json a/events.out.tfevents.dkho
"$dkho" train --resume a --quiet > /dev/null
"$python" parse.py a 4
# somebody else's file is not written over
mkdir b
echo mine > b/events.out.tfevents.dkho
if train --tensorboard -o b 2> err; then exit 1; fi
grep -q "is there already and belongs to no run" err
test "$(cat b/events.out.tfevents.dkho)" = mine
