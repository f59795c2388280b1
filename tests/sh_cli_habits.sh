#!/usr/bin/env bash
# What people expect of a command line: short options, help by verb, hints, manual pages, completion, nothing overwritten by accident.
set -euo pipefail
dkho=$2/dkho pages=$2/pages
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
expect() { # STATUS PATTERN COMMAND…
  local want=$1 pattern=$2 got=0; shift 2
  "$@" >out 2>&1 || got=$?
  if [ "$got" != "$want" ] || ! grep -qE -- "$pattern" out; then
    echo "FAILED: $* gave status $got (expected $want), or no '$pattern' in:"; cat out; exit 1
  fi
}
expect 0 '^[0-9]+\.[0-9]+\.[0-9]+$' "$dkho" -V
expect 0 '^[0-9]+\.[0-9]+\.[0-9]+$' "$dkho" --version
expect 0 'usage: dkho VERB' "$dkho" -h
expect 0 'usage: dkho VERB' "$dkho" help
expect 0 'usage: dkho mesh' "$dkho" mesh -h
expect 0 'usage: dkho mesh' "$dkho" help mesh
expect 2 "unknown verb 'mseh'; did you mean 'mesh'\?" "$dkho" mseh
expect 2 "unknown verb 'trian'; did you mean 'train'\?" "$dkho" help trian
expect 2 "unknown verb 'frobnicate'$" "$dkho" frobnicate
expect 2 "unknown option '--reapir'; did you mean '--repair'\?" "$dkho" mesh x.msh --reapir
expect 2 "unknown option '--thread=3'; did you mean '--threads'\?" "$dkho" mesh x.msh --thread=3
expect 2 "unknown option '--colour'$" "$dkho" mesh darcy --colour
expect 2 'help: found' "$dkho" help mesh data
printf 'OFF 3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n' >t.off
expect 0 'simplices' "$dkho" mesh t.off -o t.st
expect 1 't.st: exists already; it is kept \(--force replaces it\)' "$dkho" mesh t.off -o t.st
expect 0 'simplices' "$dkho" mesh t.off -o t.st --force
expect 2 "'t.png' has none of the endings that are written: .st .safetensors .vtu" "$dkho" mesh t.off -o t.png
expect 2 "'d.csv' has none of the endings that are written" "$dkho" data darcy -o d.csv
[ ! -e t.png ] && [ ! -e d.csv ]

# Every verb has a page with a name, a synopsis and its options, and groff finds nothing to say.
for verb in $("$dkho" help --verbs); do
  page=$pages/man1/dkho-$verb.1
  grep -q '^.SH SYNOPSIS' "$page"
  grep -q 'threads' "$page"
  if command -v groff >/dev/null; then
    groff -K utf8 -man -Tutf8 -ww "$page" >rendered 2>warnings
    [ ! -s warnings ] || { echo "FAILED: $page:"; cat warnings; exit 1; }
  fi
done
grep -q 'dkho\\-mesh' "$pages/man1/dkho.1"

# Completion: verbs, options of a verb, files after an option that takes one.
complete_words() { # WORD…: what bash offers for the last one
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _dkho
  printf '%s\n' "${COMPREPLY[@]}"
}
# shellcheck disable=SC1091
source "$pages/dkho.bash"
complete_words dkho me | grep -x mesh >/dev/null
complete_words dkho help inf | grep -x info >/dev/null
complete_words dkho mesh --re | grep -x -- --repair >/dev/null
complete_words dkho mesh --re | grep -vx -- --resume >/dev/null
complete_words dkho mesh t.o | grep -x t.off >/dev/null
complete_words dkho mesh t.off -o t.s | grep -x t.st >/dev/null
if command -v zsh >/dev/null; then zsh -n "$pages/_dkho"; fi
if command -v fish >/dev/null; then fish -n "$pages/dkho.fish"; fi
expect 2 'expected bash, zsh or fish' "$dkho" completion tcsh
echo "1 passed, 0 failed"
