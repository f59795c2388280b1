#!/usr/bin/env python3
"""Sums an lcov file: all lines and branches; then every parser and checkpoint file below 100 % of lines, with the lines that no test
reaches. Lines and branches of assertions, of failing allocations' messages in macros of other libraries, and lines marked `unreachable:` in a
comment are left out. Usage: tools/coverage.py FILE.info"""
import os, re, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARSERS = re.compile(r"^src/(mesh/(read_|scan|xml|raw)\w*|base/(st_(parse|read|hash|write)|file|lock)|data/(npy|npz|spec|spec_json|feat_parse|import\w*|dataset\w*)|nn/(state|optim_share)"
                     r"|run/(config|begin|train\w*)|mesh/cx_store)\.c$")
lines, branches, path, text = {}, {}, None, []
for row in open(sys.argv[1]):
    row = row.strip()
    if row.startswith("SF:"):
        path = os.path.relpath(row[3:], ROOT)
        text = open(os.path.join(ROOT, path)).read().splitlines()
    elif row.startswith("DA:"):
        n, hits = row[3:].split(",")[:2]
        lines[path, int(n)] = max(lines.get((path, int(n)), 0), int(hits))
    elif row.startswith("BRDA:"):
        n, block, branch, taken = row[5:].split(",")
        if re.search(r"\bassert\(", text[int(n) - 1]): continue
        key = (path, int(n), block, branch)
        branches[key] = max(branches.get(key, 0), 0 if taken == "-" else int(taken))
missing = {}
for (file, n), hits in lines.items():
    if not hits and PARSERS.match(file): missing.setdefault(file, []).append(n)
for file in sorted(missing): print("%s: not reached: %s" % (file, " ".join(map(str, sorted(missing[file])))))
own = [h for (f, _), h in lines.items() if PARSERS.match(f)]
share = lambda v: "%d of %d, %.2f %%" % (sum(h > 0 for h in v), len(v), 100 * sum(h > 0 for h in v) / max(1, len(v)))
print("lines of parsers and checkpoints: " + share(own))
print("lines: %s; branches: %s" % (share(list(lines.values())), share(list(branches.values()))))
