#!/usr/bin/env python3
"""Puts what `dkho reproduce` and `bench/study.py` found into docs/RESULTS.md, between its two marker lines. Standard library only.

    tools/results_page.py "the paper's settings=results" ["Muon=results-muon" …] [--study runs/faster] [--page docs/RESULTS.md]

Each set is a title and a folder of `dkho reproduce`. Figures (.png) are copied beside the page, to figures/SET-NAME.png, but for
those of every model side by side, which are large. Rows of the paper's other methods stand in the first set alone. The reading of the numbers is written by hand outside the markers, where it is kept.
"""
import argparse
import json
import os
import re
import shutil

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


def rel_l2(row):
    return row.get("metrics", {}).get("rel_l2") if row else None


def show(value, form="{:.4f}"):
    if value is None:
        return "–"
    return "{:.0e}".format(value) if form == "{:.4f}" and 0 < value < 5e-5 else form.format(value)


def find(rows, **want):
    return next((r for r in rows if all(r.get(k) == v for k, v in want.items())), None)


def headline(sets):
    """One line per target: every set's full small model beside the printed one and the simple predictors."""
    titles = [title for title, _, _ in sets]
    head = ["target", "paper, DKHO-small"] + [f"ours, {t}" for t in titles] + ["ridge", "best trivial", "epochs", "minutes",
                                                                              "fell in the last tenth"]
    out = ["Test RelL2, DKHO-small; epochs, minutes and the validation error's fall in the last tenth of the epochs of each of our columns.",
           "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    targets = {}  # (problem, target) → the first set's, whose simple predictors are shown
    for _, _, problems in sets:
        for problem in problems:
            for target in problem["targets"]:
                targets.setdefault((problem["problem"], target["target"]), target)
    order = {name: i for i, (name, _) in reversed(list(enumerate(targets)))}
    for (name, _), target in sorted(targets.items(), key=lambda t: (order[t[0][0]], t[1]["degree"])):
        rows = target["rows"]
        ours = []
        for _, _, problems in sets:
            same = next((t for p in problems if p["problem"] == name for t in p["targets"] if t["target"] == target["target"]), None)
            ours.append(find(same["rows"], source="ours", name="DKHO-small") if same else None)
        trivial = [r for r in rows if r["source"] == "ours" and r["name"] in ("zero", "mean", "copy", "rotated")]
        best = min(trivial, key=rel_l2, default=None)
        cells = [f"{name} C{target['degree']} `{target['target']}`",
                 show(rel_l2(next((r for r in rows if r["source"] == "paper" and r["name"].startswith("DKHO-small") and
                                   "no_" not in r["name"]), None)))]
        cells += [show(rel_l2(r)) for r in ours]
        cells += [show(rel_l2(find(rows, name="ridge"))), f"{show(rel_l2(best))} ({best['name']})" if best else "–"]
        cells += [", ".join(show(r and r["epochs"], "{:.0f}") for r in ours),
                  ", ".join(show(r and r["seconds"] / 60, "{:.0f}") for r in ours),
                  ", ".join(show(r and r["training"]["late_fall"], "{:.1%}") for r in ours)]
        out.append("| " + " | ".join(cells) + " |")
    return out + [""]


def figures(index, folder, page):
    """Copies a set's figures beside the page and returns their lines."""
    source, target = os.path.join(folder, "figures"), os.path.join(os.path.dirname(page), "figures")
    lines = []
    for name in sorted(os.listdir(source)) if os.path.isdir(source) else []:
        if name.endswith(".png") and "-models-" not in name:
            os.makedirs(target, exist_ok=True)
            copy = name if index == 0 else f"set{index + 1}-{name}"
            shutil.copyfile(os.path.join(source, name), os.path.join(target, copy))
            lines += [f"![{name[:-4].replace('-', ': ', 1)}](figures/{copy})", ""]
    return lines


def section(index, title, folder, page):
    with open(os.path.join(folder, "table.md")) as f:
        text = f.read().split("\n## ", 1)
    body = "## " + text[1] if len(text) > 1 else ""
    body = re.sub(r"^(#+) ", r"##\1 ", body, flags=re.M)
    if index > 0:
        body = re.sub(r"^\| (?!DKHO)[^|]*\| paper \|.*\n", "", body, flags=re.M)
    return [f"### {title[0].upper() + title[1:]}", "", body.strip(), ""] + figures(index, folder, page)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("set", nargs="+", metavar="TITLE=DIR")
    p.add_argument("--study", help="a folder of bench/study.py")
    p.add_argument("--page", default="docs/RESULTS.md")
    a = p.parse_args()
    sets = []
    for item in a.set:
        title, folder = item.split("=", 1)
        with open(os.path.join(folder, "result.json")) as f:
            sets.append((title, folder, json.load(f)["problems"]))
    lines = headline(sets)
    for i, (title, folder, _) in enumerate(sets):
        lines += section(i, title, folder, a.page)
    if a.study:
        with open(os.path.join(a.study, "study.md")) as f:
            lines += ["### Learning faster", "", re.sub(r"^### ", "#### ", f.read(), flags=re.M).strip(), ""]
    with open(a.page) as f:
        page = f.read()
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise SystemExit(f"{a.page}: expected one line '{BEGIN}' and one '{END}'")
    head, tail = page.split(BEGIN)[0], page.split(END)[1]
    with open(a.page, "w") as f:
        f.write(head + BEGIN + "\n\n" + "\n".join(lines).strip() + "\n\n" + END + tail)


if __name__ == "__main__":
    main()
