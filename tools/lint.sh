#!/usr/bin/env bash
# What a compiler does not check: formatting, the include rule between floors, clang-tidy over src, cli and mpi, and that the
# shared library exports nothing but dkho_*. Runs all of them, ends with status 1 if one fails.
# Usage: tools/lint.sh [format|floors|exports|tidy]...
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- format floors exports tidy
log=build/lint.log
mkdir -p build

configure() { cmake --preset release >"$log" 2>&1 || { cat "$log"; return 1; }; }

format() { git ls-files -co --exclude-standard '*.c' '*.h' | xargs -r clang-format --dry-run -Werror; }

floors() { tools/check_floors.sh; }

exports() {
  configure && cmake --build --preset release --target libdkho.so >"$log" 2>&1 || { cat "$log"; return 1; }
  local library=build/release/libdkho.so names
  names=$(nm -D --defined-only "$library" | awk '$2 ~ /[A-Z]/ { print $3 }')
  [ -n "$names" ] || { echo "$library exports nothing" >&2; return 1; }
  ! grep -v '^dkho_' <<<"$names" | sed "s|^|$library exports |" | grep . >&2
}

# A file is checked again only when it, a header, the checks or the flags changed: clang-tidy is slow.
tidy() {
  configure || return 1
  local stamps=build/lint state file list=() mpi=
  grep -q '/mpi/module.c' build/release/compile_commands.json && mpi=mpi/*.c # where MPI is installed
  mkdir -p "$stamps"
  state=$(cat .clang-tidy build/release/compile_commands.json include/*.h src/*/*.h src/*/*/*.h cli/*.h 2>/dev/null | sha256sum)
  for file in ${TIDY_FILES:-src/*/*.c src/model/*/*.c cli/*.c $mpi}; do
    [ -f "$file" ] || continue
    [ "$(cat "$stamps/${file//\//_}" 2>/dev/null)" = "$state $(sha256sum <"$file")" ] || list+=("$file")
  done
  [ ${#list[@]} -gt 0 ] || return 0
  export state stamps
  # shellcheck disable=SC2016
  printf '%s\n' "${list[@]}" | xargs -P"${TIDY_JOBS:-2}" -I{} bash -c '
    said=$(clang-tidy -p build/release --quiet "$1" 2>/dev/null) || { echo "$said"; exit 1; }
    echo "$state $(sha256sum <"$1")" >"$stamps/${1//\//_}"' tidy {}
}

bad=0
for check; do
  case $check in
    format|floors|exports|tidy) ;;
    *) echo "lint: unknown check '$check' (format, floors, exports, tidy)" >&2; exit 2 ;;
  esac
  if $check; then echo "lint: $check ok"; else echo "lint: $check FAILED" >&2; bad=1; fi
done
exit $bad
