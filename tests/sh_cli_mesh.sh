#!/usr/bin/env bash
# `dkho mesh` and `dkho info` as a user meets them: tables, JSON, exit statuses, nothing overwritten.
set -euo pipefail
dkho=$2/dkho
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
expect() { # STATUS PATTERN COMMAND…
  local want=$1 pattern=$2 got=0; shift 2
  "$@" >out 2>&1 || got=$?
  if [ "$got" != "$want" ] || ! grep -qE -- "$pattern" out; then
    echo "FAILED: $* gave status $got (expected $want), or no '$pattern' in:"; cat out; exit 1
  fi
}
expect 0 '"betti": \[$' "$dkho" mesh darcy --json
tr -d ' \n' <out | grep '"simplices":\[5477,16013,10535\],"betti":\[1,2,0\],"betti_relative":\[0,2,1\]' >found
expect 2 'found 0, expected at least 3' "$dkho" data --samples 0 -o x.st darcy
expect 0 '2,499  7,497  4,998' "$dkho" mesh torus
expect 0 '3,017  22,344  38,339  19,010' "$dkho" mesh cavity
expect 0 'Betti numbers +1  0  1  0' "$dkho" mesh cavity --resolution smoke -o shell.st
expect 1 'shell.st: exists already' "$dkho" mesh cavity --resolution smoke -o shell.st
expect 0 'Betti' "$dkho" mesh cavity --resolution smoke -o shell.st --force
expect 0 'shell.st: complex' "$dkho" info shell.st
expect 0 'eigenvectors +8  8  8' "$dkho" mesh torus --resolution smoke --bases 8 -o based.st
expect 0 'harmonic fields +1  2  1' "$dkho" info based.st
expect 0 '"metric": "unit"' "$dkho" info based.st --json
expect 0 'eigenvectors +8  8  8' "$dkho" mesh based.st -o again.st
cmp based.st again.st
expect 2 'bases' "$dkho" mesh torus --resolution smoke --bases -1
expect 0 'Betti numbers +1  1  0' "$dkho" mesh planar --hole 0,0,0.3 -o disk.vtu
expect 0 'Betti numbers +1  1  0' "$dkho" mesh disk.vtu
# Repairs are told in both forms; what would change the topology waits to be asked for.
printf 'v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 1 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 3 0 0\nf 1 2 3 4\nf 5 6 7 8\n' >two.obj
expect 0 'repairs +coincident: 2' "$dkho" mesh two.obj
expect 0 '"coincident": 2' "$dkho" mesh two.obj --json
expect 0 'simplices +6  9  4' "$dkho" mesh two.obj --merge 0 -o two.st
expect 0 'repairs +merged: 2' "$dkho" info two.st
expect 1 'only mesh files are repaired' "$dkho" mesh two.st --merge 0
expect 2 'are for mesh files' "$dkho" mesh darcy --repair
echo 'f 1 2 6' >>two.obj
expect 1 'triangle 2 of the file has no extent .*--repair' "$dkho" mesh two.obj
expect 0 'repairs +flat: 1' "$dkho" mesh two.obj --repair
expect 1 'hole' "$dkho" mesh planar --hole 0,0,0.3 --hole 0.1,0,0.3
expect 1 'no-such-file' "$dkho" mesh no-such-file.msh
expect 1 'resolution' "$dkho" mesh darcy --resolution huge
expect 2 'unknown option' "$dkho" mesh darcy --colour
expect 2 'expected X,Y,R' "$dkho" mesh planar --hole 0,0
expect 2 'unknown verb' "$dkho" frobnicate
expect 2 'a verb is missing' "$dkho"
expect 0 'usage: dkho mesh' "$dkho" mesh --help
head -c 100 shell.st >cut.st
expect 1 'cut.st' "$dkho" info cut.st
[ "$(ls | grep -c tmp)" = 0 ]
echo "1 passed, 0 failed"
