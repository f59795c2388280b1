#!/usr/bin/env python3
"""Puts what `dkho reproduce` and `bench/study.py` found into docs/RESULTS.md, between its marker lines. Standard library only.

    tools/results_page.py                   # from what is kept in results/
    tools/results_page.py --figures WORK    # and new figures (.png) from WORK/FOLDER/figures

results/page.json lists the sets (titles and folders of `dkho reproduce`) and the studies. Two short tables go between the markers named headline: the
full models of the sets made with the budget paper, and the ablations of all sets. Everything else goes between the markers named tables. Figures lie
beside the page as figures/FOLDER-NAME.png; those of every model side by side, which are large, are left out. Rows of the paper's other methods stand in the first
set alone. The reading of the numbers is written by hand outside the markers, where it is kept.
"""
import argparse
import json
import os
import re
import shutil

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "results")
VARIANTS = ("no_dirac", "no_phase", "no_harmonic")


def rel_l2(row):
    return row.get("metrics", {}).get("rel_l2") if row else None


def show(value, form="{:.4f}"):
    if value is None:
        return "–"
    return "{:.0e}".format(value) if form == "{:.4f}" and 0 < value < 5e-5 else form.format(value)


def find(rows, **want):
    return next((r for r in rows if all(r.get(k) == v for k, v in want.items())), None)


def targets_of(sets):
    """(problem, target) → that target in each set, None where a set has it not; in the order of problems and degrees."""
    found = {}
    for i, (_, _, problems) in enumerate(sets):
        for problem in problems:
            for target in problem["targets"]:
                found.setdefault((problem["problem"], target["target"]), [None] * len(sets))[i] = target
    order = {name: i for i, (name, _) in reversed(list(enumerate(found)))}
    return sorted(found.items(), key=lambda t: (order[t[0][0]], next(x["degree"] for x in t[1] if x)))


def name_of(problem, targets):
    target = next(t for t in targets if t)
    return f"{problem} C{target['degree']} `{target['target']}`"


def model(target, variant=None, source="ours"):
    return find(target["rows"], source=source, name="DKHO-small" + (f", {variant}" if variant else "")) if target else None


def headline(sets):
    """One line per target: every set's full small model beside the printed one and the simple predictors."""
    head = ["target", "paper"] + [f"ours, {t}" for t, _, _ in sets] + ["ridge", "best trivial", "epochs", "minutes",
                                                                       "fell in the last tenth"]
    out = ["Test RelL2, DKHO-small; epochs, minutes and the validation error's fall in the last tenth of the epochs of each of our columns.",
           "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for (problem, _), targets in targets_of(sets):
        first = next(t for t in targets if t)  # whose simple predictors are shown
        ours = [model(t) for t in targets]
        trivial = [r for r in first["rows"] if r["source"] == "ours" and r["name"] in ("zero", "mean", "copy", "rotated")]
        best = min(trivial, key=rel_l2, default=None)
        cells = [name_of(problem, targets), show(rel_l2(model(first, source="paper")))] + [show(rel_l2(r)) for r in ours]
        cells += [show(rel_l2(find(first["rows"], name="ridge"))), f"{show(rel_l2(best))} ({best['name']})" if best else "–"]
        cells += [", ".join(show(r and r["epochs"], "{:.0f}") for r in ours),
                  ", ".join(show(r and r["seconds"] / 60, "{:.0f}") for r in ours),
                  ", ".join(show(r and r["training"]["late_fall"], "{:.1%}") for r in ours)]
        out.append("| " + " | ".join(cells) + " |")
    return out + [""]


def ablations(sets):
    """One line per target and set (the paper's first): the full model and each variant."""
    sets = [s for s in sets if any(model(t, v) for p in s[2] for t in p["targets"] for v in VARIANTS)]
    if not sets:
        return []
    out = ["Test RelL2 without one component, equal budgets within a line.", "",
           "| target | set | full | " + " | ".join(VARIANTS) + " |", "|---" * (3 + len(VARIANTS)) + "|"]
    for (problem, _), targets in targets_of(sets):
        lines = [("paper", next(t for t in targets if t), "paper")]
        lines += [(f"ours, {title}", t, "ours") for (title, _, _), t in zip(sets, targets) if model(t)]
        for title, target, source in lines:
            cells = [show(rel_l2(model(target, v, source))) for v in (None, *VARIANTS)]
            out.append(f"| {name_of(problem, targets)} | {title} | " + " | ".join(cells) + " |")
    return out + [""]


def take_figures(source, folder, page):
    """Copies a set's new figures beside the page."""
    if not os.path.isdir(source):
        return
    for name in os.listdir(source):
        if name.endswith(".png") and "-models-" not in name:
            shutil.copyfile(os.path.join(source, name), os.path.join(os.path.dirname(page), "figures", f"{folder}-{name}"))


def figures(folder, problems, page):
    """The lines of the figures that lie beside the page."""
    names = sorted(os.listdir(os.path.join(os.path.dirname(page), "figures")))
    mine = [(n, n[len(folder) + 1:-4]) for n in names for p in problems
            if n.startswith(f"{folder}-{p['problem']}-") and n.endswith(".png")]
    return [line for name, title in mine for line in (f"![{title.replace('-', ': ', 1)}](figures/{name})", "")]


def section(title, folder, problems, first, page):
    with open(os.path.join(RESULTS, folder, "table.md")) as f:
        text = f.read().split("\n## ", 1)
    body = "## " + text[1] if len(text) > 1 else ""
    body = re.sub(r"^(#+) ", r"##\1 ", body, flags=re.M)
    if not first:
        body = re.sub(r"^\| (?!DKHO)[^|]*\| paper \|.*\n", "", body, flags=re.M)
    return [f"### {title[0].upper() + title[1:]}", "", body.strip(), ""] + figures(folder, problems, page)


def between(path, page, name, lines):
    """The page with these lines between the markers of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"{path}: expected one line '{begin}' and one '{end}'")
    return page.split(begin)[0] + begin + "\n\n" + "\n".join(lines).strip() + "\n\n" + end + page.split(end)[1]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--figures", metavar="WORK", help="where the folders of the sets were made")
    p.add_argument("--page", default=os.path.join(ROOT, "docs", "RESULTS.md"))
    a = p.parse_args()
    with open(os.path.join(RESULTS, "page.json")) as f:
        listed = json.load(f)
    sets, tables = [], []
    for title, folder in listed["sets"]:
        with open(os.path.join(RESULTS, folder, "result.json")) as f:
            sets.append((title, folder, json.load(f)["problems"]))
        if a.figures:
            take_figures(os.path.join(a.figures, folder, "figures"), folder, a.page)
    for title, folder, problems in sets:
        tables += section(title, folder, problems, not tables, a.page)
    for title, folder in listed["studies"]:
        with open(os.path.join(RESULTS, folder, "study.md")) as f:
            tables += [f"### {title}", "", re.sub(r"^### ", "#### ", f.read(), flags=re.M).strip(), ""]
    with open(a.page) as f:
        page = f.read()
    whole = [s for s in sets if all(p["budget"] == "paper" for p in s[2])]
    page = between(a.page, page, "headline", headline(whole) + ablations(sets))
    page = between(a.page, page, "tables", tables)
    with open(a.page, "w") as f:
        f.write(page)


if __name__ == "__main__":
    main()
