#!/usr/bin/env bash
# Manual pages and completion scripts, from the help texts of the tool. Usage: tools/cli_pages.sh DKHO TARGET
set -euo pipefail
dkho=$1 out=$2
rm -rf "$out"
mkdir -p "$out/man1"
for verb in $("$dkho" help --verbs); do "$dkho" help "$verb" --man >"$out/man1/dkho-$verb.1"; done
for shell in bash fish; do "$dkho" completion $shell >"$out/dkho.$shell"; done
"$dkho" completion zsh >"$out/_dkho"
"$dkho" help --man >"$out/man1/dkho.1"
