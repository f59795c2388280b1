#!/usr/bin/env python3
"""GCC's -fanalyzer over the library and the tool. Warnings that were looked at and are wrong are listed in tools/analyse.known, one
`file: option: function` a line with the reason behind it; any other is an error. Usage: tools/analyse.py [FILE...]  (needs `cmake --preset release`)"""
import json, os, re, shlex, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
known = {}
for line in open(os.path.join(ROOT, "tools/analyse.known")):
    m = re.match(r"(\S+): (\S+): (\w+)\s+#\s*(.+)", line)
    if m: known[m.groups()[:3]] = m.group(4)
build, seen, used, bad = os.path.join(ROOT, "build/release"), set(), set(), 0
for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
    path = os.path.relpath(entry["file"], ROOT)
    if path in seen or not re.match(r"(src|cli|mpi)/", path) or path.startswith("src/kern/fast/") or (len(sys.argv) > 1 and path not in sys.argv[1:]): continue
    seen.add(path)
    args = [a for a in shlex.split(entry["command"]) if a not in ("-Werror", "ccache") and not a.endswith("/ccache")]
    args[args.index("-o") + 1] = "/dev/null"
    said = subprocess.run(args + ["-fanalyzer", "-O1"], cwd=build, capture_output=True, text=True).stderr
    where = ""
    for line in said.splitlines():
        m = re.search(r"In function .(\w+).:", line)
        if m: where = m.group(1)
        m = re.search(r"(\S+):(\d+):\d+: warning: (.*) \[(?:CWE-\d+\] \[)?-Wanalyzer-([a-z0-9-]+)\]", line)
        if not m: continue
        key = (os.path.relpath(os.path.join(build, m.group(1)), ROOT), m.group(4), where)
        if key in known: used.add(key)
        else:
            bad += 1
            print("%s:%s: %s: %s: %s" % (key[0], m.group(2), m.group(4), where, m.group(3)))
for key in sorted(set(known) - used if len(sys.argv) == 1 else []):
    bad += 1
    print("%s: %s: %s: argued in tools/analyse.known, but no longer said" % key)
print("-fanalyzer: %d files, %d warnings argued, %d not" % (len(seen), len(used), bad))
sys.exit(bad > 0)
