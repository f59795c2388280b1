#!/usr/bin/env python3
"""Trains the settings of a study one after the other and tables their validation errors. Standard library only.

    bench/study.py bench/faster.json -o runs/faster            # go on wherever it stopped; a finished part is kept
    bench/study.py bench/faster.json -o runs/faster --table    # only the table of what is there

A setting is trained for `steps` steps (equal steps) and, when its batch is not the study's, also until it has seen as many
samples as the others (equal time: a step costs what its samples cost). Equal steps that would end inside an epoch are left
out. Errors are those of the last epoch on the validation split; the test split is not looked at. Keys of a setting are options
of `dkho train`; the optimiser is the paper's, AdamW, where none is named. `reference` names the setting that the others are compared with.
"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys

TEXT = {"warmup": "--warmup", "lr": "--lr", "ema": "--ema", "schedule": "--schedule", "optimizer": "--optimizer",
        "batch": "--batch", "weight_decay": "--weight-decay", "clip": "--clip", "model": "--model", "size": "--size",
        "profile": "--profile"}


def settings(study):
    for s in study["settings"]:
        unknown = set(s) - set(TEXT) - {"name"}
        if unknown:
            sys.exit(f"setting '{s.get('name')}': unknown {', '.join(sorted(unknown))}; there are {', '.join(TEXT)}")
        yield s


def epochs_for(study, batch, steps):
    """0 when the steps end inside an epoch."""
    per_epoch = -(-study["train_samples"] // batch)
    return 0 if steps % per_epoch else steps // per_epoch


def plan(study, case, setting):
    """(name of the run, epochs, what it answers) of one setting; answers: 'steps', 'time'."""
    batch = setting.get("batch", study["batch"])
    slug = re.sub(r"[^a-z0-9.]+", "-", setting["name"].lower()).strip("-")
    head = f"{case['problem']}{case['target']}/{slug}"
    equal_steps = epochs_for(study, batch, study["steps"])
    equal_time = epochs_for(study, batch, study["steps"] * study["batch"] // batch)
    if not equal_time:
        sys.exit(f"setting '{setting['name']}': {study['steps']} steps of batch {study['batch']} are no whole number of its epochs")
    if equal_steps == equal_time:
        return [(head, equal_steps, ("steps", "time"))]
    runs = [(head, equal_steps, ("steps",))] if equal_steps else []
    return runs + [(head + "-equal-time", equal_time, ("time",))]


def history(run):
    try:
        with open(os.path.join(run, "metrics.csv")) as f:
            return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(f)]
    except FileNotFoundError:
        return []


def train(a, study, case, setting, run, epochs):
    if os.path.exists(os.path.join(run, "result.json")):
        return
    if os.path.exists(os.path.join(run, "config.json")):
        command = [a.dkho, "train", "--resume", run]
    else:
        command = [a.dkho, "train", "--data", data(a, study, case), "--target", case["target"], "-o", run, "--epochs",
                   str(epochs), "--train-samples", str(study["train_samples"]), "--seed", str(study["seed"])]
        for key, value in ({"optimizer": "adamw", "batch": study["batch"]} | setting).items():
            if key != "name":
                command += [TEXT[key], str(value)]
    print("+", " ".join(command), flush=True)
    if subprocess.run(command + ["--quiet", "--threads", str(a.threads)], stdout=subprocess.DEVNULL).returncode:
        sys.exit(f"{run}: training failed; the same command goes on from here")


def data(a, study, case):
    """The data set: the one given, or one made here."""
    given = dict(item.split("=", 1) for item in a.data)
    path = given.get(case["problem"], os.path.join(a.out, case["problem"] + ".st"))
    if not os.path.exists(path):
        some = ["--samples", str(study["samples"])] if study.get("samples") else []
        subprocess.run([a.dkho, "data", case["problem"], "--resolution", study["resolution"], "--seed", str(study["seed"]), "-o",
                        path, "--quiet", *some], check=True, stdout=subprocess.DEVNULL)
    return path


def collect(a, study):
    rows = []
    for case in study["cases"]:
        for setting in settings(study):
            row = {"case": f"{case['problem']} C{case['target']}", "name": setting["name"]}
            for name, epochs, answers in plan(study, case, setting):
                h = history(os.path.join(a.out, name))
                if len(h) < epochs:
                    continue
                steps = epochs * -(-study["train_samples"] // setting.get("batch", study["batch"]))
                for answer in answers:
                    row[answer] = {"val_rel_l2": h[-1]["val_rel_l2"], "best": min(e["val_rel_l2"] for e in h), "steps": steps,
                                   "seconds": h[-1]["seconds"]}
            rows.append(row)
    return rows


def table(study, rows):
    out = [f"Validation RelL2 after {study['steps']} steps of batch {study['batch']} (or what is named) on "
           f"{study['train_samples']} training samples, {study['resolution']} resolution, seed {study['seed']}; equal time "
           "means equally many samples seen.", ""]
    for case in dict.fromkeys(r["case"] for r in rows):
        mine = [r for r in rows if r["case"] == case]
        first = study.get("reference", "paper")
        reference = next((r for r in mine if r["name"] == first), {})
        out += [f"### {case}", "", f"| setting | equal steps | against {first} | equal time | against {first} | steps | seconds |",
                "|---|---|---|---|---|---|---|"]
        for r in mine:
            cells = []
            for answer in ("steps", "time"):
                here, there = (x.get(answer, {}).get("val_rel_l2") for x in (r, reference))
                cells += [f"{here:.4f}" if here else "–", f"{100 * (here / there - 1):+.1f} %" if here and there else "–"]
            last = r.get("time") or r.get("steps") or {}
            cells += [str(last.get("steps", "–")), f"{last['seconds']:.0f}" if last else "–"]
            out.append(f"| {r['name']} | " + " | ".join(cells) + " |")
        out.append("")
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("study")
    p.add_argument("-o", "--out", required=True)
    p.add_argument("--dkho", default="build/release/dkho")
    p.add_argument("--data", action="append", default=[], metavar="PROBLEM=FILE", help="a data set that is there already")
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--steps", type=int, help="instead of the study's")
    p.add_argument("--train-samples", type=int, help="instead of the study's")
    p.add_argument("--samples", type=int, help="of the data sets made here, in all (default: the benchmark's own)")
    p.add_argument("--resolution", help="instead of the study's")
    p.add_argument("--only", default="", help="regular expression on 'PROBLEM C0 setting'")
    p.add_argument("--table", action="store_true", help="train nothing")
    a = p.parse_args()
    with open(a.study) as f:
        study = json.load(f)
    for key in ("steps", "train_samples", "resolution", "samples"):
        if getattr(a, key):
            study[key] = getattr(a, key)
    os.makedirs(a.out, exist_ok=True)
    for case in study["cases"] if not a.table else []:
        for setting in settings(study):
            if re.search(a.only, f"{case['problem']} C{case['target']} {setting['name']}"):
                for name, epochs, _ in plan(study, case, setting):
                    train(a, study, case, setting, os.path.join(a.out, name), epochs)
    rows = collect(a, study)
    with open(os.path.join(a.out, "study.json"), "w") as f:
        json.dump({"study": study, "rows": rows}, f, indent=1)
        f.write("\n")
    text = table(study, rows)
    with open(os.path.join(a.out, "study.md"), "w") as f:
        f.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
