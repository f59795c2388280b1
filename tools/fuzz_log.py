#!/usr/bin/env python3
"""The sum of all fuzzing: every run of tools/fuzz.sh, and per target executions, seconds and runs (results/fuzz.json).
Usage: tools/fuzz_log.py FILE                                      prints the totals
       tools/fuzz_log.py FILE TARGET EXECUTIONS SECONDS INPUTS     adds a run of today's commit"""
import datetime, json, os, subprocess, sys

# Parsers that read a file and nothing else; the others make or train something in every run.
SLOW = ("model", "dataset", "import", "checkpoint", "config", "info", "cli", "sweep")

def total(log):
    sums = {}
    for run in log:
        one = sums.setdefault(run["target"], {"executions": 0, "seconds": 0, "runs": 0, "inputs": 0})
        for key in ("executions", "seconds"): one[key] += run[key]
        one["runs"] += 1
        one["inputs"] = run["inputs"]
    return dict(sorted(sums.items()))

def main():
    path, run = sys.argv[1], sys.argv[2:]
    book = json.load(open(path)) if os.path.exists(path) else {"log": []}
    if run:
        commit = os.environ.get("FUZZ_COMMIT") or subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        book["log"].append({"date": str(datetime.date.today()), "commit": commit, "target": run[0], "executions": int(run[1]),
                            "seconds": int(run[2]), "inputs": int(run[3])})
        book["total"] = total(book["log"])
        book["sum"] = {"executions": sum(t["executions"] for t in book["total"].values()), "seconds": sum(t["seconds"] for t in book["total"].values()),
                       "fast": sum(t["executions"] for n, t in book["total"].items() if n not in SLOW), "targets": len(book["total"])}
        json.dump(book, open(path + ".new", "w"), indent=1)
        os.replace(path + ".new", path)
    for name, t in book.get("total", {}).items() if not run else []:
        print("%-12s %14d executions %8d s" % (name, t["executions"], t["seconds"]))

main()
