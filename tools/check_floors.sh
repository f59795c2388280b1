#!/usr/bin/env bash
# Checks the include rule between floors: a file in src/X includes only its own floor, dkho.h, and the floors named here.
# The command line and the examples include nothing of ours but dkho.h and files beside them. No benchmark is known by name on
# the floors that serve any data set, and headers private to a floor end in _impl.h. Usage: tools/check_floors.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
declare -A allowed=(
  [base]=""
  [kern]="base"
  [la]="base"
  [mesh]="base"
  [dec]="base la mesh"
  [data]="base mesh"
  [problem]="base la mesh dec data"
  [nn]="base kern la"
  [model]="base kern la mesh dec data nn"
  [run]="base la mesh dec data nn model"
  [report]="base mesh"
  [study]="base kern la mesh dec data problem nn model run report"
  [api]="base kern la mesh dec data problem nn model run report study"
)
bad=0
complain() {
  echo "floors: $1" >&2
  bad=1
}
# FILE:LINE:HEADER of every include with quotes, and of every include in brackets that could be ours.
includes() {
  find "$@" -name '*.[ch]' -print0 | sort -z | xargs -0r grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' |
    sed -E 's/^([^:]*:[0-9]+):[^"<]*["<]([^">]*)[">].*/\1:\2/'
}
is_floor() { [ -n "${allowed[$1]+x}" ]; }

for folder in src/*/; do
  floor=$(basename "$folder")
  is_floor "$floor" || { complain "src/$floor is not in the table of tools/check_floors.sh"; continue; }
  while IFS=: read -r file line header; do
    [ -n "$header" ] || continue
    above=${header%%/*}
    case $header in
      dkho.h|version.h) continue ;;
      *_impl.h) [ "$above" = "$floor" ] || complain "$file:$line: $header is private to $above" ;;
    esac
    if is_floor "$above" && [ "$above" != "$header" ]; then
      [[ $above = "$floor" || " ${allowed[$floor]} " = *" $above "* ]] ||
        complain "$file:$line: $floor may not include $header (allowed: dkho.h ${allowed[$floor]})"
    elif [[ $header = *..* ]] || [ -f "$folder$header" ]; then
      complain "$file:$line: write \"$floor/...\" instead of $header"
    fi
  done < <(includes "$folder")
done
# A header is private when its head says so, or when only the sources of its own name include it (a.h: a.c, a_b.c), tests counted.
private_by_head() {
  find src -name '*.h' -exec awk 'FNR <= 3 && /(files|layouts|parts|pieces|sources)[^.,]* share([^a-z]|$)|(Private|Internal) to/ { print FILENAME }' {} +
}
private_by_use() {
  { grep -rHoE --include='*.[ch]' '#include "[a-z_0-9]+/[a-z_0-9/]+\.h"' src tests 2>/dev/null || true; } |
    sed -E 's/^([^:]*):#include "(.*)\.h"$/\1 src\/\2/' |
    awk '{ if (index($1, $2 ".") == 1 || index($1, $2 "_") == 1) own[$2]++; else other[$2]++ }
         END { for (h in own) if (own[h] > 1 && !other[h]) print h ".h" }'
}
while read -r header; do
  case $header in *_impl.h|src/kern/fast/*) continue ;; esac
  [ -f "$header" ] || continue
  complain "$header: the name of a private header ends in _impl.h"
done < <({ private_by_head; private_by_use; find src -name '*_priv.h' -o -name '*_int.h' -o -name '*_private.h' -o -name '*_internal.h'; } | sort -u)
for folder in cli examples; do
  [ -d "$folder" ] || continue
  while IFS=: read -r file line header; do
    [ -n "$header" ] || continue
    above=${header%%/*}
    if [[ $header = *..* ]] || { is_floor "$above" && [ "$above" != "$header" ]; }; then
      complain "$file:$line: $folder may include only dkho.h, found $header"
    fi
  done < <(includes "$folder")
done

# Names of the benchmarks, from their tables. Some are words of their own, and count only as "NAME" or problem_NAME; heat is
# also a descriptor.
anonymous=(src/kern src/nn src/model src/run src/data src/api src/report)
words=" flow heat lamination reaction wells "
if [ -d src/problem ]; then
  for name in $(sed -nE 's/^[[:space:]]*\.name = "([a-z_0-9]+)".*/\1/p' src/problem/*.c); do
    pattern="problem_$name\\b"
    [ "$name" = heat ] || pattern+="|\"$name\""
    [[ $words = *" $name "* ]] || pattern+="|\\b$name\\b"
    for folder in "${anonymous[@]}"; do
      [ -d "$folder" ] || continue
      while IFS=: read -r file line _; do
        complain "$file:$line: knows the benchmark $name; only src/problem and src/study may"
      done < <(grep -rnE "$pattern" "$folder")
    done
  done
fi
exit $bad
