#!/usr/bin/env python3
"""Puts the numbers of results/ into the pages. Standard library only.

    tools/results_page.py                   # fill results/TABLES.md, README.md and docs/*.md
    tools/results_page.py --check           # write nothing; say what differs and fail
    tools/results_page.py --figures WORK    # also copy the listed figures (.png) from WORK/SET/figures

results/page.json lists the sets (files of tools/collect_results.py), studies and figures. Numbers reach a page in three ways:

    results/TABLES.md      is generated as a whole
    <!-- NAME: begin -->   a generated block, up to <!-- NAME: end -->: a table, or the output of a command
    0.0227<!--=SOURCE-->   one number in the text, printed with as many digits as stand there

SOURCE names a value, FILE:PATH, optionally followed by % (times 100) or by one of * / and a number or another value:

    muon:darcy.q.rel_l2                the full model of a target in a set; darcy.q.no_phase.rel_l2 a variant, darcy.q.mean.rel_l2
                                       a baseline, paper:darcy.q.GNO (F).rel_l2 a row of the paper
    muon:darcy.q.ms, .classical_ms, .minutes, .late_fall, .epochs, .parameters, .val_rel_l2
    muon:darcy.phase.dice              population mean; darcy.phase.zero_diagonal.dice; darcy.pair: inconsistency of q and w
    equal:headline.native.mean_reduction   the figures of the paper's abstract, from our own runs
    faster:torus C0.muon lr 1e-2       validation error of a study's setting at equal steps; with .time at equal time; test error, mean of
                                       the seeds, where the study is of the test split; .time.processor_seconds and the like: another
                                       value of that row
    speed:a.b.c                        a path through any other file of results/

In README.md and the pages of SOURCED a decimal number or percentage outside code and generated blocks must have a source: --check
refuses one without. Constants of definitions, like the 0.05 of an equation, are listed under their page and heading as "constants" in
results/page.json; a line indented by four spaces is an equation.
"""
import argparse
import glob
import json
import os
import re
import shutil
import sys

import scaling_model

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VARIANTS = ("no_dirac", "no_phase", "no_harmonic")
TRIVIAL = ("zero", "mean", "copy", "rotated")
SOURCED = ("README.md", *(os.path.join("docs", name) for name in ("RESULTS.md", "SPEED.md", "PROBLEMS.md", "METRICS.md", "MODEL.md")))
TITLE = {("darcy", "p"): "Darcy p, pressure", ("darcy", "q"): "Darcy q, flux", ("darcy", "w"): "Darcy w, circulation",
         ("torus", "u"): "torus u, concentration", ("torus", "q"): "torus q, transport", ("torus", "m"): "torus m, mass",
         ("cavity", "B"): "cavity B, response"}


# ---- values ----

class Results:
    """The files of results/, by name, and the values in them."""

    def __init__(self, folder):
        self.files = {}
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            with open(path) as f:
                self.files[os.path.basename(path)[:-5]] = json.load(f)
        self.page = self.files.pop("page")

    def target(self, name, problem, target):
        for p in self.files.get(name, {}).get("problems", []):
            for t in p["targets"]:
                if (p["problem"], t["target"]) == (problem, target):
                    return t
        return None

    def problem(self, name, problem):
        return next((p for p in self.files[name]["problems"] if p["problem"] == problem), None)

    def targets(self):
        """(problem, target, degree) in the order of the paper's rows, then what only our sets have."""
        found = {}
        for name in ["paper"] + [s["file"] for s in self.page["sets"]]:
            for p in self.files[name]["problems"]:
                for t in p["targets"]:
                    found.setdefault((p["problem"], t["target"]), t["degree"])
        return [(p, t, d) for (p, t), d in found.items()]


def row_named(target, name):
    return next((r for r in target["rows"] if r["name"] == name), None) if target else None


def full_model(target):
    """The full model of a target in a set: the small one, else the large one."""
    return row_named(target, "DKHO-small") or row_named(target, "DKHO-large")


def row_of(target, alias):
    if alias == "full":
        return full_model(target)
    if alias in VARIANTS:
        return row_named(target, f"DKHO-small, {alias}") or row_named(target, f"DKHO-large, {alias}")
    return row_named(target, alias)


def row_value(row, key):
    cost = row.get("cost", {})
    if key == "ms":
        return 1000 * cost["learned_seconds_per_sample"]
    if key == "classical_ms":
        return 1000 * cost["classical"]["seconds_per_sample"]
    if key == "minutes":
        return row["seconds"] / 60
    if key == "break_even_solves":
        return cost[key]
    if key == "late_fall":
        return row["training"]["late_fall"]
    return row["metrics"][key] if key in row.get("metrics", {}) else row[key]


def phase_value(phase, path):
    group = phase["zero_diagonal"] if path[0] == "zero_diagonal" else phase.get("population", phase)
    value = group[path[-1]]
    return value[0] if isinstance(value, list) else value


def set_value(data, path):
    problem = next(p for p in data["problems"] if p["problem"] == path[0])
    if path[1] == "phase":
        return phase_value(problem["phase"], path[2:])
    if path[1] == "pair":
        return problem["pairs"][0]["value"]
    target = next(t for t in problem["targets"] if t["target"] == path[1])
    return row_value(row_of(target, path[2] if len(path) > 3 else "full"), path[-1])


def study_error(study):
    return "test_rel_l2" if study.get("split") == "test" else "val_rel_l2"


def study_value(data, path):
    row = next(r for r in data["rows"] if r["case"] == path[0] and r["name"] == path[1])
    return row[path[2] if len(path) > 2 else "steps"][path[3] if len(path) > 3 else study_error(data["study"])]


def plain_value(data, path):
    for part in path:
        data = data[int(part)] if isinstance(data, list) else data[part]
    return data


def value_at(results, where):
    """The number that FILE:PATH names."""
    name, path = where.strip().split(":", 1)
    data, path = results.files[name], path.strip().split(".")
    if "problems" in data and path[0] != "headline":
        return set_value(data, path)
    return study_value(data, path) if "study" in data else plain_value(data, path)


def evaluate(results, source):
    source = source.strip()
    if source.endswith("%"):
        return 100 * evaluate(results, source[:-1])
    found = re.match(r"(.*) ([*/-]) (.*)$", source)
    if not found:
        return value_at(results, source)
    left, right = evaluate(results, found[1]), found[3]
    right = value_at(results, right) if ":" in right else float(right)
    return left * right if found[2] == "*" else left / right if found[2] == "/" else left - right


def printed_like(text, value):
    """The value with as many digits as the text has."""
    if "e" in text:
        mantissa = text.split("e")[0]
        digits = len(mantissa.split(".")[1]) if "." in mantissa else 0
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    plain = text.replace(",", "")
    out = f"{value:.{len(plain.split('.')[1]) if '.' in plain else 0}f}"
    return f"{int(out):,}" if "," in text else out


# ---- tables ----

def show(value):
    if value is None:
        return "–"
    return f"{value:.4f}" if value == 0 or abs(value) >= 1e-3 else f"{value:.2e}"


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return out + ["| " + " | ".join(str(c) for c in r) + " |" for r in rows]


def rel_l2(row):
    return row["metrics"].get("rel_l2") if row else None


def best_trivial(target):
    rows = [r for r in target["rows"] if r["name"] in TRIVIAL]
    return min(rows, key=rel_l2, default=None)


def whole_sets(results):
    """The sets trained on all of the paper's samples."""
    return [s for s in results.page["sets"] if s.get("headline")]


def paper_sizes(results):
    """(column title, row name) of the paper's models that our sets have too."""
    sizes = ["small"]
    for s in whole_sets(results):
        for p in results.files[s["file"]]["problems"]:
            if any(row_named(t, "DKHO-large") for t in p["targets"]) and "large" not in sizes:
                sizes.append("large")
    return [(f"paper, {size}", f"DKHO-{size}") for size in sizes]


def headline(results):
    """One line per target: every whole set beside the paper's models, a linear regression and the best trivial predictor."""
    sets, sizes = whole_sets(results), paper_sizes(results)
    head = ["target"] + [s["title"] for s in sets] + [title for title, _ in sizes] + ["no learning", "linear regression",
                                                                                     "ms: ours / solver"]
    rows = []
    for problem, target, _ in results.targets():
        ours = [results.target(s["file"], problem, target) for s in sets]
        first = next((t for t in ours if t), None)
        if not first:
            continue
        best, timed = best_trivial(first), [full_model(t) for s, t in zip(sets, ours) if s.get("timing") and full_model(t)]
        ridge = rel_l2(row_named(first, "ridge"))
        cells = [TITLE.get((problem, target), f"{problem} {target}")] + [show(rel_l2(full_model(t))) for t in ours]
        cells += [show(rel_l2(row_named(results.target("paper", problem, target), name))) for _, name in sizes]
        cells += [f"{rel_l2(best):.3f} ({best['name']})", "–" if ridge is None else f"{ridge:.0e}" if ridge < 1e-5 else f"{ridge:.3f}",
                  f"{row_value(timed[0], 'ms'):.2g} / {row_value(timed[0], 'classical_ms'):.2g}" if timed else "–"]
        rows.append(cells)
    return table(head, rows)


def ablations(results):
    """One line per target and set (the paper's first): the full model and each variant."""
    rows = []
    for problem, target, degree in results.targets():
        lines = []
        for s in results.page["sets"]:
            t = results.target(s["file"], problem, target)
            if t and any(row_of(t, v) for v in VARIANTS):
                lines.append((s["title"], t))
        if lines:
            lines.insert(0, ("paper", results.target("paper", problem, target)))
        for title, t in lines:
            rows.append([f"{problem} C{degree} `{target}`", title] + [show(rel_l2(row_of(t, a))) for a in ("full", *VARIANTS)])
    return table(["target", "set", "full", "without Dirac coupling", "without phase", "without harmonic branch"], rows)


RIVALS = (("DKHO-small", "DKHO-large", "dkho-x", "tno", "attention"),
          tuple(f"{m} (N)" for m in ("gno", "fno", "mgn", "deeponet", "geofno", "hsd")),
          tuple(f"{m} (F)" for m in ("gno", "fno", "mgn", "deeponet", "geofno", "hsd")),
          ("ridge", "quadratic", "kernel", "pca-net"))
PRINTED = {"gno": "GNO", "fno": "FNO", "mgn": "MGN", "deeponet": "DeepONet", "geofno": "Geo-FNO", "hsd": "HSD"}


def printed_name(name):
    """Our name of a row as the paper prints it."""
    model, _, inputs = name.partition(" ")
    return f"{PRINTED[model]} {inputs}" if model in PRINTED else name


def rivals(results):
    """One line per model of the equal budget, one column per target; the paper's figure in brackets, the best network of a column in bold."""
    columns = [(p, t) for p, t, _ in results.targets() if results.target("equal", p, t)]
    ours = {c: results.target("equal", *c) for c in columns}
    networks = [name for group in RIVALS[:3] for name in group]
    best = {c: min((e for e in (rel_l2(row_named(t, n)) for n in networks) if e is not None), default=None) for c, t in ours.items()}

    def cell(name, column):
        error = rel_l2(row_named(ours[column], name))
        printed = rel_l2(row_named(results.target("paper", *column), printed_name(name)))
        text = show(error) if error is None or error >= 1e-3 else f"{error:.0e}"
        return (f"**{text}**" if name in networks and error == best[column] else text) + (f" ({show(printed)})" if printed else "")

    rows = [[f"`{n}`" if n == n.lower() else n] + [cell(n, c) for c in columns]
            for group in RIVALS for n in group if any(row_named(t, n) for t in ours.values())]
    return table(["model"] + [TITLE[c].split(",")[0] for c in columns], rows)


def efficiency_lines(results, name, inputs):
    """Per target the leading baseline of these inputs in a set, DKHO's parameters as a share of its, and how far its error is reduced."""
    for problem, target, _ in results.targets():
        t = results.target(name, problem, target)
        if not t or not results.target("equal", problem, target):
            continue
        small, large = row_named(t, "DKHO-small"), row_named(t, "DKHO-large")
        leading = min((r for r in t["rows"] if r["name"].endswith(f" ({inputs})")), key=rel_l2)
        yield {"target": (problem, target), "leading": leading, "small": small, "large": large,
               "share": small["parameters"] / leading["parameters"] if "parameters" in leading else None,
               "reduction": 1 - rel_l2(large) / rel_l2(leading)}


def mean_reduction(lines):
    """Mean over problems of the mean over their targets."""
    problems = {}
    for line in lines:
        problems.setdefault(line["target"][0], []).append(line["reduction"])
    return sum(sum(p) / len(p) for p in problems.values()) / len(problems)


def efficiency_cells(line):
    count = lambda row: f"{row['parameters']:,}" if "parameters" in row else "–"
    return [line["leading"]["name"], count(line["small"]), count(line["leading"]), percent(line["share"]), show(rel_l2(line["small"])),
            show(rel_l2(line["large"])), show(rel_l2(line["leading"])), percent(line["reduction"])]


def percent(value):
    return "–" if value is None else f"{100 * value:.1f} %"


def efficiency(results, inputs="N"):
    """The paper's table of parameters and errors, from the equal budget and as printed; below, the two figures of its abstract."""
    sets = {title: list(efficiency_lines(results, name, inputs)) for title, name in (("ours", "equal"), ("paper", "paper"))}
    rows = []
    for ours, printed in zip(*sets.values()):
        rows += [[TITLE[ours["target"]].split(",")[0], "ours"] + efficiency_cells(ours), ["", "paper"] + efficiency_cells(printed)]
    for title, lines in sets.items():
        shares = [line["share"] for line in lines if line["share"]]
        span = f"{100 * min(shares):.1f} to {100 * max(shares):.1f} %" if shares else "–"
        rows.append(["all" if title == "ours" else "", title, "", "", "", span, "", "", "", percent(mean_reduction(lines))])
    return table(["target", "source", "leading baseline", "parameters: DKHO-small", "baseline", "share", "RelL2: DKHO-small", "DKHO-large",
                  "baseline", "reduction by DKHO-large"], rows)


def seed_table(rows, order, corner):
    """Mean ± deviation of the test error over the seeds, one column per case, the best mean in bold."""
    found = {(r["name"], r["case"]): r["steps"] for r in rows if "steps" in r}
    cases = list(dict.fromkeys(r["case"] for r in rows))
    best = {c: min(v["test_rel_l2"] for (_, case), v in found.items() if case == c) for c in cases}

    def cell(name, case):
        v = found.get((name, case))
        text = f"{v['test_rel_l2']:.4f} ± {v['spread']:.4f}" if v else "–"
        return f"**{text}**" if v and v["test_rel_l2"] == best[case] else text

    return table([corner] + cases, [[f"`{n}`" if n == n.lower() else n] + [cell(n, c) for c in cases] for n in order])


def seeds(results):
    rows = results.files["seeds"]["rows"]
    names = {r["name"] for r in rows}
    return seed_table(rows, [n for group in RIVALS for n in group if n in names], "model")


def variants(results):
    return seed_table(results.files["ablations"]["rows"], ["full", *VARIANTS], "network")


def worth(results, answer="time", wanted=lambda case: ", long" not in case):
    """What parts of the network are worth: test errors of the study "stronger", a row per setting, a column per problem."""
    rows = [r for r in results.files["stronger"]["rows"] if wanted(r["case"])]
    cases = list(dict.fromkeys(r["case"] for r in rows))
    found = {(r["name"], r["case"]): r[answer]["test_rel_l2"] for r in rows if answer in r}
    names = [n for n in dict.fromkeys(r["name"] for r in rows) if any((n, c) in found for c in cases)]
    text = lambda x: "–" if x is None else f"{x:.4f}" if x < 0.02 else f"{x:.3f}"
    return table(["network"] + [c.replace("darcy", "Darcy").replace(", long", "") for c in cases],
                 [[f"`{n}`" if n == "dkho-x" else n] + [text(found.get((n, c))) for c in cases] for n in names])


def worth_steps(results):
    return worth(results, "steps")


def worth_long(results):
    return worth(results, wanted=lambda case: ", long" in case)


def main_meshes(results):
    """The study "main": the paper's network beside dkho-x, and the ratio."""
    rows = results.files["main"]["rows"]
    error = {(r["case"], r["name"]): r["time"]["test_rel_l2"] for r in rows if "time" in r}
    steps = {(r["case"], r["name"]): r["time"]["steps"] for r in rows if "time" in r}
    cases = [c for c in dict.fromkeys(r["case"] for r in rows) if (c, "paper") in error and (c, "dkho-x") in error]
    body = [[c.replace("darcy", "Darcy")] + [f"{error[c, n]:.4f} ({steps[c, n]:,} steps)" for n in ("paper", "dkho-x")] +
            [f"{error[c, 'dkho-x'] / error[c, 'paper']:.2f}"] for c in cases]
    return table(["", "the paper's network", "`dkho-x`", "ratio"], body)


def machine_of(manifest):
    return manifest["cpu"] + (f" ({manifest['kernels']})" if "kernels" in manifest else "")


def set_list(results):
    rows = []
    for s in results.page["sets"] + results.page["studies"] + results.page["singles"]:
        data = results.files[s["file"]]
        machines = sorted({machine_of(r["manifest"]) for r in data["runs"]})
        minutes = sum(r["curve"]["seconds"][-1] for r in data["runs"]) / 60
        rows.append([f"[{s['title']}]({s['file']}.json)", s["about"], len(data["runs"]), f"{minutes:.0f}", "; ".join(machines)])
    return table(["set", "what", "runs", "minutes of training", "machine"], rows)


def commands(results):
    out = []
    for s in results.page["sets"] + results.page["studies"] + results.page["singles"]:
        out += [f"# {s['title']}"] + s["commands"]
    return ["```sh"] + out + ["```"]


def metric_table(results, problem, target):
    sets = [(s, results.target(s["file"], problem, target)) for s in results.page["sets"]]
    sets = [(s["title"], t) for s, t in sets if t]
    metrics = sets[0][1]["metrics"]
    head = ["row", "source", "parameters"] + [m["title"] + (" ↓" if m["better"] < 0 else " ↑") for m in metrics]
    rows = [("paper", r) for r in (results.target("paper", problem, target) or {"rows": []})["rows"]]
    rows += [(title, r) for title, t in sets for r in t["rows"]]
    return table(head, [[r["name"], source, r.get("parameters", "–")] + [show(r["metrics"].get(m["key"])) for m in metrics]
                        for source, r in rows])


def learned_rows(results, problem):
    for s in results.page["sets"]:
        for t in (results.problem(s["file"], problem) or {"targets": []})["targets"]:
            for r in t["rows"]:
                if "training" in r:
                    yield s["title"], t["target"], r


def training_table(results, problem):
    rows = []
    for title, target, r in learned_rows(results, problem):
        how, fall = r["training"], r["training"]["late_fall"]
        rows.append([title, target, r["name"], f"{how['optimizer']}, {how['schedule']}, lr {how['lr']:g}, batch {how['batch']}",
                     f"{r['epochs']} (best {r['best_epoch']})", f"{r['seconds'] / 60:.0f}", show(r["val_rel_l2"]), show(rel_l2(r)),
                     "–" if fall is None else f"{100 * fall:.1f} %"])
    return table(["set", "target", "row", "optimiser", "epochs", "minutes", "val RelL2", "test RelL2", "fell in the last tenth"], rows)


def cost_table(results, problem):
    rows = []
    for title, target, r in learned_rows(results, problem):
        even = r["cost"]["break_even_solves"]
        rows.append([title, target, r["name"], f"{r['seconds']:.0f}", f"{row_value(r, 'ms'):.3f}", f"{row_value(r, 'classical_ms'):.3f}",
                     even if isinstance(even, str) else f"{even:.0f}"])
    return table(["set", "target", "row", "training, s", "ms per prediction", "ms per classical solve", "break-even solves"], rows)


def phase_table(results, problem):
    keys = ("rho", "dice", "lift", "enrichment", "permuted_dice", "above_chance")
    rows = []

    def add(title, run, group):
        cells = [group.get(k) for k in keys]
        rows.append([title, run] + ["–" if c is None else f"{c[0]:.3f} ± {c[1]:.3f}" if isinstance(c, list) else f"{c:.3f}" for c in cells])

    printed = (results.problem("paper", problem) or {}).get("phase")
    if printed:
        add("paper", "large", printed)
    for s in results.page["sets"]:
        phase = (results.problem(s["file"], problem) or {}).get("phase")
        if phase:
            add(s["title"], phase["run"], phase["population"])
            add(s["title"] + ", zero diagonal", phase["run"], phase["zero_diagonal"])
    return table(["set", "run", "rho", "Dice", "Lift", "Enrichment", "permuted Dice", "share above chance"], rows)


def case_table(results, problem):
    """The cases of the phase diagnostic: the paper's three, then the best of each set by our own rule."""
    columns = (("dice", 3), ("lift", 2), ("enrichment", 2), ("rho", 3), ("rel_l2", 4))
    printed = (results.problem("paper", problem) or {}).get("phase") or {}
    rows = [["paper", "large", "–", c] for c in printed.get("cases", [])]
    for s in results.page["sets"]:
        phase = (results.problem(s["file"], problem) or {}).get("phase") or {}
        rows += [[s["title"], phase["run"], c["sample"], c] for c in phase.get("cases", [])]
    return table(["set", "run", "test sample", "Dice", "Lift", "Enrichment", "rho", "RelL2"],
                 [r[:3] + [f"{r[3][key]:.{digits}f}" for key, digits in columns] for r in rows])


def study_table(data):
    """Error of every setting, at equal steps and at equal time, beside the reference setting."""
    study, out = data["study"], []
    first, error = study.get("reference", "paper"), study_error(study)
    for case in dict.fromkeys(r["case"] for r in data["rows"]):
        mine = [r for r in data["rows"] if r["case"] == case and (error == "val_rel_l2" or "steps" in r or "time" in r)]
        reference, rows = next((r for r in mine if r["name"] == first), {}), []
        for r in mine:
            cells = [r["name"]]
            for answer in ("steps", "time"):
                here, there = r.get(answer, {}).get(error), reference.get(answer, reference.get("steps", {})).get(error)
                cells += [show(here), f"{100 * (here / there - 1):+.1f} %" if here and there else "–"]
            last = r.get("time") or r.get("steps") or {}
            seconds = last.get("processor_seconds", last.get("seconds"))
            cells += [last.get("steps", "–"), f"{seconds:.0f}" if seconds else "–"]
            rows.append(cells + [r.get("steps", {}).get("seeds", "–")] * (error == "test_rel_l2"))
        head = ["setting", "equal steps", f"against {first}", "equal time", f"against {first}", "steps", "seconds"]
        if mine:
            out += [f"**{case}**", ""] + table(head + ["seeds"] * (error == "test_rel_l2"), rows) + [""]
    return out


def study_text(study):
    own = study_error(study) == "test_rel_l2"
    return (f"{'Test' if own else 'Validation'} RelL2 after {study['steps']} steps of batch {study['batch']} (unless another "
            f"{'number' if own else 'batch'} is named) on {study['train_samples']} training samples, {study['resolution']} resolution, " +
            ("mean of the seeds. Equal time means the reference's processor time, in whole epochs; steps and seconds are those of the last run "
             "named in a row." if own else f"seed {study['seed']}. Equal time means equally many samples seen."))


def all_tables(results):
    out = ["# Tables", "", "Every number of the result files in this folder, as tables. Generated by `tools/results_page.py`; do not edit.",
           "[docs/RESULTS.md](../docs/RESULTS.md) is the summary, [docs/METRICS.md](../docs/METRICS.md) defines rows and columns.",
           "Rows marked *paper* are printed figures, from the authors' own data.", "", "## Sets", ""]
    out += set_list(results) + ["", "The commands that made them; `tools/collect_results.py DIR -o results/NAME.json` then makes the file:", ""]
    out += commands(results) + ["", "## Ablations, test RelL2", ""] + ablations(results)
    out += ["", "## Efficiency", "", "The equal budget beside the printed figures; docs/METRICS.md has the formulas. The paper prints no "
            "parameters with inputs F.", "", "Native inputs (N):", ""] + efficiency(results)
    out += ["", "Matched inputs (F):", ""] + efficiency(results, "F")
    for problem in dict.fromkeys(p for p, _, _ in results.targets()):
        out += ["", f"## {problem}"]
        for p, target, degree in results.targets():
            if p == problem:
                out += ["", f"### {problem} C{degree}: `{target}`", ""] + metric_table(results, problem, target)
        out += ["", f"### {problem}: training", "", "The last column is the share of the best validation error so far that was gained in the last tenth of "
                "the epochs.", ""] + training_table(results, problem)
        pairs = [f"{s['title']}: {show(q['value'])} (`{q['lower']}`, `{q['upper']}`, {q['size']})" for s in results.page["sets"]
                 for q in (results.problem(s["file"], problem) or {}).get("pairs", [])]
        if pairs:
            out += ["", "Inconsistency of separately trained models, mean of ‖d û − ŵ‖ / ‖ŵ‖. " + "; ".join(pairs) + "."]
        out += ["", f"### {problem}: cost with 2 threads", "", "A classical solve gives all targets at once, after a set-up for the mesh; a prediction gives "
                "one.", ""] + cost_table(results, problem)
        out += ["", f"### {problem}: phase diagnostic", ""] + phase_table(results, problem)
        out += ["", "Cases; the paper gives no rule for its three, ours are the best by `src/run/alignment.h`.", ""] + case_table(results, problem)
    for s in results.page["studies"]:
        study = results.files[s["file"]]["study"]
        out += ["", f"## {s['title']}", "", study_text(study), ""] + study_table(results.files[s["file"]])
    return "\n".join(out).rstrip() + "\n"


def example(results):
    """What `dkho eval --honest` prints for the README's example, without its timings."""
    found = results.files["example"]["eval"]
    rows = found["honest"]["rows"]
    columns = [found["metrics"]] + [r["metrics"] for r in rows]
    names = [found["run"]] + [r["name"] for r in rows]
    out = ["$ dkho eval runs/flux --honest", f"{'':18}" + "".join(f" {n:>14}" for n in names),
           f"{'target':18} {found['target']:>14}", f"{'parameters':18} {found['parameters']:14,}"]
    out += [f"{key:18}" + "".join(f" {c[key]:14.5g}" for c in columns) for key in found["metrics"]]
    return ["```console"] + out + ["…", "```"]


def demo(results):
    """The comparison at the end of `dkho demo`."""
    keys = ("rel_l2", "coboundary_fid", "iou")
    rows = results.files["demo"]["problems"][0]["targets"][0]["rows"]
    return table(["predictor", *keys, "what it is"], [[r["name"]] + [f"{r['metrics'][k]:.4f}" for k in keys] +
                                                       [r.get("what", "the operator just trained")] for r in rows])


def tutorial(results):
    """What `dkho eval --honest` says of the tutorial's operator, in short."""
    found, keys = results.files["tutorial"]["eval"], ("rel_l2", "rel_l1", "iou")
    rows = [{"name": "dkho-x", "metrics": found["metrics"], "what": f"the operator, {found['parameters']:,} parameters"}]
    return table(["predictor", *keys, "what it is"], [[r["name"]] + [f"{r['metrics'][k]:.3f}" for k in keys] + [r["what"]]
                                                       for r in rows + found["honest"]["rows"]])


def in_order(rows, *keys):
    """Rows grouped by these keys: {values of the keys: {problem: row}}, in the order in which they appear."""
    found = {}
    for r in rows:
        found.setdefault(tuple(r[k] for k in keys), {})[r["problem"]] = r
    return found


def three(group, key, form="{}"):
    """A value for Darcy / torus / cavity."""
    return " / ".join(form.format(group[p][key]) if key in group[p] else "–" for p in ("darcy", "torus", "cavity"))


def bench(results):
    machines, rows = results.files["speed"]["machines"], []
    for (machine, size), group in in_order(results.files["speed"]["bench"], "machine", "size").items():
        rows.append([machines[machine]["title"], size, three(group, "train_ms_1"), three(group, "train_ms_2"), three(group, "speedup"),
                     three(group, "share_2", "{:.0%}"), three(group, "predict_ms_2")])
    return ["Darcy / torus / cavity:", ""] + table(["machine", "size", "training, 1 thread", "training, 2 threads", "speed-up", "share of the peak",
                                                   "prediction, 2 threads"], rows)


def pytorch(results):
    machines, rows = results.files["speed"]["machines"], []
    for (machine, task, size, batch), group in in_order(results.files["speed"]["pytorch"], "machine", "task", "size", "batch").items():
        cells = []
        for problem in ("darcy", "torus", "cavity"):
            r = group[problem]
            cells.append(f"{r['ratio']}" + (f" ({r['range'][0]}–{r['range'][1]})" if "range" in r else ""))
        what = "memory of training" if task.startswith("memory") else f"{task}, batch {batch}"
        rows.append([machines[machine]["title"], f"{what}, {size}"] + cells + [group["darcy"]["turns"]])
    return table(["machine", "what", "Darcy", "torus", "cavity", "turns"], rows)


def baselines(results):
    """Training of the other models, ours against their PyTorch twins."""
    rows, two = [], results.files["speed"]["baselines"]["two_threads"]["torus"]
    for name, r in results.files["speed"]["baselines"]["torus"].items():
        times = [f"{r['pytorch_ms']:.1f} / {r['ms']:.1f}", f"{r['pytorch_ms'] / r['ms']:.1f}"] if "pytorch_ms" in r else ["–", "–"]
        room = [f"{r['pytorch_mb']:.0f} / {r['mb']:.0f}", f"{r['pytorch_mb'] / r['mb']:.1f}"] if "pytorch_mb" in r else ["–", "–"]
        clock = f"{two[name]['pytorch_ms'] / two[name]['ms']:.1f}" if name in two else "–"
        rows.append([name] + times + [clock] + room + [f"{100 * r['share']:.0f} %" if r["share"] > 0.05 else f"{100 * r['share']:.1f} %"])
    return table(["model", "ms per sample: PyTorch / ours", "ratio", "ratio, two threads", "MB: PyTorch / ours", "ratio", "share of peak"], rows)


ORDERS = {"encoding": ("Σ N_k d_k h + N h²", "N h"), "conditioning maps, one evaluation": ("N h c", "N c"),
          "relation feedback, one substep": ("(E + N) c", "N c"), "content update, one layer": ("N h² + N h c", "N h"),
          "output projection and synthesis": ("N_q b r", "N_q b")}


def seen(group):
    """Nanoseconds; what a difference of two measurements cannot tell from nothing is not given a number."""
    return " / ".join("–" if p not in group else f"{group[p]['ns']:.0f}" if group[p]["ns"] >= 5 else "< 5" for p in ("darcy", "torus", "cavity"))


def operations(results):
    """Costs of the network's operations per simplex, beside the paper's orders."""
    rows, runs = [], results.files["operations"]["costs"]
    for size in ("small", "large"):
        group = {r["problem"]: {o["operation"]: o for o in r["operations"]} for r in runs if r["size"] == size}
        for name, (work, storage) in ORDERS.items():
            one = {p: group[p][name] for p in group}
            rows.append([size, name, work, seen(one), three(one, "multiply_adds", "{:,.0f}"), storage, three(one, "bytes", "{:.0f}")])
        both = {r["problem"]: r for r in runs if r["size"] == size}
        for key, what in (("cached", "maps once per layer (as built)"), ("recomputed", "maps in every substep (as published)")):
            rows.append([size, f"relation of a layer, {what}", "", three(both, f"relation_layer_{key}_ns", "{:.0f}"), "", "", ""])
    return ["Darcy q / torus u / cavity B, per simplex of the active degrees:", ""] + table(
        ["size", "operation", "work, order", "nanoseconds", "multiply-adds", "storage, order", "bytes written"], rows)


BLOCKS = {"operations": operations, "bench": bench, "pytorch": pytorch, "baselines": baselines, "headline": headline, "ablations": ablations,
          "rivals": rivals, "efficiency": efficiency, "seeds": seeds, "variants": variants, "worth": worth, "worth_steps": worth_steps, "worth_long": worth_long, "main": main_meshes, "example": example, "demo": demo, "tutorial": tutorial, "ranks": scaling_model.measured,
          "nodes": scaling_model.predicted}


# ---- pages ----

def fill_blocks(path, text, results, problems):
    def replace(found):
        name = found[1]
        if name not in BLOCKS:
            problems.append(f"{path}: unknown block '{name}'")
            return found[0]
        return f"<!-- {name}: begin -->\n\n" + "\n".join(BLOCKS[name](results)) + f"\n\n<!-- {name}: end -->"

    return re.sub(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", replace, text, flags=re.S)


NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"


def fill_values(path, text, results, problems):
    def replace(found):
        try:
            value = evaluate(results, found[2])
        except (KeyError, IndexError, StopIteration, TypeError, ValueError, ZeroDivisionError) as e:
            problems.append(f"{path}: '{found[2]}' names no value ({type(e).__name__} {e})")
            return found[0]
        return f"{printed_like(found[1], value)}<!--={found[2]}-->"

    return re.sub(rf"({NUMBER})<!--=([^>]*)-->", replace, text)


def unsourced(path, text, constants=None):
    """Decimal numbers and percentages outside code, equations, links, generated blocks and marks; constants: heading -> what its section may
    have, numbers with spaces between."""
    headings = text.split("\n")
    for pattern in (r"<!-- (\w+): begin -->.*?<!-- \1: end -->", r"```.*?```", r"`[^`\n]*`", rf"{NUMBER}<!--=[^>]*-->( %)?",
                    r"\]\([^)]*\)", r"Apache licence 2\.0|Apache 2\.0|LGPL 2\.1|MPL 1\.1|2\.x|4\.x"):
        text = re.sub(pattern, lambda m: re.sub(r"[^\n]", "_", m[0]), text, flags=re.S)
    allowed = ()
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            allowed = (constants or {}).get(headings[number - 1].lstrip("# "), "").split()
        for found in re.finditer(r"\d+\.\d+|\d+ %|\d+e-\d+", "" if line.startswith("    ") else line):
            if found[0].replace(" ", "") not in allowed:
                yield f"{path}:{number}: '{found[0]}' has no source in results/"


def compare(path, old, new, problems):
    for number, (a, b) in enumerate(zip(old.split("\n"), new.split("\n")), 1):
        if a != b:
            problems.append(f"{path}:{number}: found\n    {a}\n  expected\n    {b}")
            return
    problems.append(f"{path}: {len(old.splitlines())} lines, expected {len(new.splitlines())}")


def take_figures(results, work):
    for name in results.page["figures"]:
        folder, figure = name.split("/")
        shutil.copyfile(os.path.join(work, folder, "figures", figure + ".png"),
                        os.path.join(ROOT, "docs", "figures", f"{folder}-{figure}.png"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--figures", metavar="WORK", help="where the folders of the sets were made")
    p.add_argument("--check", action="store_true", help="compare instead of writing")
    a = p.parse_args()
    results, problems = Results(os.path.join(ROOT, "results")), []
    if a.figures:
        take_figures(results, a.figures)
    pages = ["README.md"] + [os.path.join("docs", n) for n in sorted(os.listdir(os.path.join(ROOT, "docs"))) if n.endswith(".md")]
    for path in pages + [os.path.join("results", "TABLES.md")]:
        full = os.path.join(ROOT, path)
        old = open(full).read() if os.path.exists(full) else ""
        if path in pages:
            new = fill_values(path, fill_blocks(path, old, results, problems), results, problems)
        else:
            new = all_tables(results)
        if path in SOURCED:
            problems += unsourced(path, new, results.page["constants"].get(os.path.basename(path)))
        if a.check and old != new:
            compare(path, old, new, problems)
        elif not a.check and old != new:
            with open(full, "w") as f:
                f.write(new)
    for line in problems:
        print(line, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
