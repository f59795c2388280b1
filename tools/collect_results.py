#!/usr/bin/env python3
"""Turns the output folder of `dkho reproduce` or `bench/study.py` into one results file. Standard library only.

    tools/collect_results.py DIR… -o results/NAME.json
    tools/collect_results.py RUN --eval EVAL.json -o results/NAME.json   # one run, with the output of `dkho eval RUN --honest --json`

Several folders of `dkho reproduce` (one per problem, say) become one set. The file holds everything the pages and tests use, in a form that reads as a table (one row, run or curve per line):

    problems   of `dkho reproduce`: result.json (metrics of every row, cost, phase diagnostic) with the plan of each problem;
               rows of the paper are left out, they stand once in results/paper.json
    study      of `bench/study.py`: its settings; `rows`: validation errors
    eval       of one run: its metrics, baselines and cost
    headline   the figures of the paper's abstract from our own runs, by inputs, where baselines were trained in the one folder
    runs       every training: name, configuration, environment (manifest.json), result, and the curve of metrics.csv by columns

    tools/collect_results.py DIR --paper -o results/paper.json    # only the paper's rows, of all problems in DIR
    tools/collect_results.py DIR… --into results/NAME.json -o results/NAME.json   # rows and runs that another folder added later; the same names are replaced

Models, data and figures are left out: `dkho pack` and --figures of tools/results_page.py take care of those.
"""
import argparse
import csv
import glob
import json
import os
import statistics

WIDTH = 230  # a nested value that fits into so many characters stands on one line; a flat one always does


def read_json(*path):
    with open(os.path.join(*path)) as f:
        return json.load(f)


def layout(value, indent=0):
    """JSON text in which small objects and arrays stand on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= WIDTH or is_flat(value):
        return flat
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        body = [f"{pad}{json.dumps(k)}: {layout(v, indent + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(body) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(pad + layout(v, indent + 1) for v in value) + "\n" + " " * indent + "]"


def is_flat(value):
    """A scalar, or an object or array of scalars."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return not any(isinstance(v, (dict, list)) for v in inside)


def write_json(path, value):
    with open(path, "w") as f:
        f.write(layout(value) + "\n")


def curve_of(run):
    """The columns of metrics.csv."""
    with open(os.path.join(run, "metrics.csv")) as f:
        rows = list(csv.DictReader(f))
    return {key: [float(r[key]) if key != "epoch" else int(r[key]) for r in rows] for key in rows[0]}


def collect_run(folder, **name):
    out = dict(name)
    for part in ("config", "manifest", "result"):
        out[part] = read_json(folder, part + ".json")
    out["config"].pop("data", None)  # a path of the machine that trained; data_hash says which data
    out["curve"] = curve_of(folder)
    return out


def without_paper(problem):
    """A problem of result.json without the figures that the paper prints."""
    out = dict(problem)
    out["targets"] = [dict(t, rows=[r for r in t["rows"] if r["source"] != "paper"]) for t in problem["targets"]]
    if "phase" in out:
        out["phase"] = {k: v for k, v in out["phase"].items() if k != "paper"}
    return out


def paper_of(problem):
    targets = [{"target": t["target"], "degree": t["degree"], "rows": [r for r in t["rows"] if r["source"] == "paper"]}
               for t in problem["targets"]]
    return {"problem": problem["problem"], "targets": targets, "phase": problem.get("phase", {}).get("paper")}


def collect_reproduce(folder):
    problems, runs = [], []
    for problem in read_json(folder, "result.json")["problems"]:
        name = problem["problem"]
        problems.append(dict(without_paper(problem), plan=read_json(folder, name, "plan.json")))
        for path in sorted(glob.glob(os.path.join(folder, name, "runs", "*", "result.json"))):
            run = os.path.dirname(path)
            runs.append(collect_run(run, problem=name, run=os.path.basename(run)))
    return {"problems": problems, "runs": runs, "headline": read_json(folder, "result.json").get("headline", [])}


def same_budget(problem, other):
    """Two folders may share a table when they trained on the same samples for the same number of steps."""
    return all(problem[k] == other[k] for k in ("resolution", "epochs", "batch", "samples", "seed", "simplices"))


def merge_rows(old, new):
    """Rows by name: learned rows of `new` replace those of `old`; learned ones stand before the others."""
    rows = {r["name"]: r for r in old} | {r["name"]: r for r in new if "training" in r}
    return sorted(rows.values(), key=lambda r: "training" not in r)


def merge_sets(base, added):
    """The set `base` with what `added` has besides."""
    for problem in added["problems"]:
        mine = next((p for p in base["problems"] if p["problem"] == problem["problem"]), None)
        if not mine or not same_budget(mine, problem):
            raise SystemExit(f"collect_results: {problem['problem']}: the budgets differ (resolution, epochs, batch, samples, seed), so the rows do not compare")
        for t in problem["targets"]:
            here = next(x for x in mine["targets"] if x["target"] == t["target"])
            here["rows"] = merge_rows(here["rows"], t["rows"])
    runs = {(r["problem"], r["run"]): r for r in base["runs"] + added["runs"]}
    return dict(base, runs=[runs[k] for k in sorted(runs)], headline={i: headline_of(base["problems"], i) for i in ("native", "matched")})


def headline_of(problems, inputs):
    """The figures of the paper's abstract, as src/study/study_headline.c takes them from one folder: on each target the best of the paper's six
    with these inputs; 1 - (error of DKHO-large) / (its error), and (parameters of DKHO-small) / (its parameters); the mean is over problems of means over targets."""
    mark, found = {"native": " (N)", "matched": " (F)"}[inputs], []
    for p in problems:
        for t in p["targets"]:
            rows = {r["name"]: r for r in t["rows"]}
            rivals = [rows[m + mark] for m in ("gno", "fno", "mgn", "deeponet", "geofno", "hsd") if m + mark in rows]
            if not rivals or not {"DKHO-small", "DKHO-large"} <= set(rows):
                continue
            best, small, large = min(rivals, key=lambda r: r["metrics"]["rel_l2"]), rows["DKHO-small"], rows["DKHO-large"]
            errors = [r["metrics"]["rel_l2"] for r in (best, small, large)]
            found.append({"problem": p["problem"], "target": t["target"], "baseline": best["name"], "baseline_parameters": float(best["parameters"]),
                          "small_parameters": float(small["parameters"]), "share": small["parameters"] / best["parameters"],
                          "baseline_rel_l2": errors[0], "small_rel_l2": errors[1], "large_rel_l2": errors[2], "reduction": 1 - errors[2] / errors[0]})
    means = [statistics.mean(f["reduction"] for f in found if f["problem"] == name) for name in dict.fromkeys(f["problem"] for f in found)]
    shares = [f["share"] for f in found]
    return {"source": "ours", "inputs": inputs, "mean_reduction": statistics.mean(means), "least_share": min(shares), "most_share": max(shares),
            "targets": found}


def collect_study(folder):
    out = read_json(folder, "study.json")
    out["runs"] = []
    for path in sorted(glob.glob(os.path.join(folder, "*", "*", "result.json"))):
        case, run = os.path.dirname(path).split(os.sep)[-2:]
        out["runs"].append(collect_run(os.path.dirname(path), case=case, run=run))
    return out


def collect_single(folder, evaluation):
    found = read_json(evaluation)[0]
    return {"eval": dict(found, run=os.path.basename(found["run"])), "runs": [collect_run(folder, run=os.path.basename(folder))]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", metavar="DIR", nargs="+")
    p.add_argument("-o", "--out", required=True, metavar="FILE")
    p.add_argument("--paper", action="store_true", help="only the figures that the paper prints")
    p.add_argument("--into", metavar="FILE", help="the set that the rows and runs of DIR… are added to")
    p.add_argument("--eval", metavar="FILE", help="DIR is one run, FILE its evaluation")
    a = p.parse_args()
    first = a.folder[0]
    try:
        if a.eval:
            found = collect_single(first, a.eval)
        elif a.paper:
            whole = [read_json(folder, "result.json") for folder in a.folder]
            found = {"problems": [paper_of(q) for one in whole for q in one["problems"]]}
            if len(whole) == 1:
                found["headline"] = {h["inputs"]: h for h in whole[0].get("headline", []) if h["source"] == "paper"}
        elif os.path.exists(os.path.join(first, "study.json")):
            found = collect_study(first)
        else:
            parts = [collect_reproduce(folder) for folder in a.folder]
            found = {key: [x for part in parts for x in part[key]] for key in ("problems", "runs")}
            if len(parts) == 1 and any(h["source"] == "ours" for h in parts[0]["headline"]):
                found["headline"] = {h["inputs"]: h for h in parts[0]["headline"] if h["source"] == "ours"}
            if a.into:
                found = merge_sets(read_json(a.into), found)
    except (OSError, ValueError) as e:
        raise SystemExit(f"collect_results: {', '.join(a.folder)}: {e}")
    names = [q["problem"] for q in found.get("problems", [])]
    if len(a.folder) > 1 and (a.eval or "study" in found or len(set(names)) < len(names)):
        raise SystemExit("collect_results: several folders must be of `dkho reproduce`, each problem in one of them")
    write_json(a.out, found)


if __name__ == "__main__":
    main()
