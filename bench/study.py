#!/usr/bin/env python3
"""Trains the settings of a study one after the other and tables their errors. Standard library only.

    bench/study.py bench/faster.json -o runs/faster            # go on wherever it stopped; a finished part is kept
    bench/study.py bench/faster.json -o runs/faster --table    # only the table of what is there

A setting is trained for `steps` steps (equal steps) and, when its batch is not the study's, also until it has seen as many
samples as the others (equal time: a step costs what its samples cost). Equal steps that would end inside an epoch are left
out. Errors are those of the last epoch on the validation split; the test split is not looked at. Keys of a setting are options
of `dkho train`; the optimiser is the paper's, AdamW, where none is named. `reference` names the setting that the others are compared with.

A study of networks says `"split": "test"`: errors are then of the selected model on the test split, and every setting is trained with each
of `seeds` (its own, its case's, or the study's). A setting with `"time": true` is trained once more for as many epochs as the reference's
processor time pays for, `"time": "only"` for nothing else; `steps_seeds` are those of the runs at equal steps. What an epoch costs is measured
before anything is trained: short runs of one and of four epochs, all settings of a case in turns, on one thread; the smallest
difference of processor times counts (rates.json). Setting up (modes, files) is not in it. A case may have `steps`, `train_samples` and a `name`
of its own, and `settings`, a regular expression, to take only some.
"""
import argparse
import csv
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

TEXT = {"warmup": "--warmup", "lr": "--lr", "ema": "--ema", "schedule": "--schedule", "optimizer": "--optimizer",
        "batch": "--batch", "weight_decay": "--weight-decay", "clip": "--clip", "model": "--model", "size": "--size",
        "profile": "--profile", "set": "--set"}


def settings(study, case):
    for s in study["settings"]:
        unknown = set(s) - set(TEXT) - {"name", "time", "seeds"}
        if unknown:
            sys.exit(f"setting '{s.get('name')}': unknown {', '.join(sorted(unknown))}; there are {', '.join(TEXT)}")
        if re.search(case.get("settings", ""), s["name"]):
            yield {"optimizer": study.get("optimizer", "adamw"), "schedule": study.get("schedule", "cosine")} | s


def size_of(study, case):
    """(training samples, steps) of a case."""
    return case.get("train_samples", study["train_samples"]), case.get("steps", study["steps"])


def epochs_for(samples, batch, steps):
    """0 when the steps end inside an epoch."""
    per_epoch = -(-samples // batch)
    return 0 if steps % per_epoch else steps // per_epoch


def seeds_of(study, case={}, setting={}):
    return setting.get("seeds", case.get("seeds", study.get("seeds", [study.get("seed")])))


def name_of(study, case):
    return case.get("name", f"{case['problem']} {'' if study.get('split') else 'C'}{case['target']}")


def slug_of(text):
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def plan(a, study, case, setting, seed):
    """(name of the run, epochs, what it answers) of one setting; answers: 'steps', 'time'. Runs that wait for another's time are left
    out until that is known."""
    batch = setting.get("batch", study["batch"])
    folder = slug_of(case["name"]) if "name" in case else case["problem"] + case["target"]
    head = f"{folder}/{slug_of(setting['name'])}" + (f"-seed{seed}" if len(seeds_of(study)) > 1 else "")
    samples, steps = size_of(study, case)
    equal_steps = epochs_for(samples, batch, steps)
    if study.get("split") == "test":
        return plan_test(a, study, case, setting, seed, head, equal_steps)
    equal_time = epochs_for(samples, batch, steps * study["batch"] // batch)
    if not equal_time:
        sys.exit(f"setting '{setting['name']}': {steps} steps of batch {study['batch']} are no whole number of its epochs")
    if equal_steps == equal_time:
        return [(head, equal_steps, ("steps", "time"))]
    runs = [(head, equal_steps, ("steps",))] if equal_steps else []
    return runs + [(head + "-equal-time", equal_time, ("time",))]


def processor_seconds(run):
    try:
        with open(os.path.join(run, "processor.json")) as f:
            return json.load(f)["seconds"]
    except FileNotFoundError:
        return None


def plan_test(a, study, case, setting, seed, head, equal_steps):
    first = setting["name"] == study["reference"]
    runs = []
    if setting.get("time") != "only" and (first or seed in study.get("steps_seeds", [seed])):
        runs = [(head, equal_steps, ("steps", "time") if first else ("steps",))]
    cost = relative_cost(a, study, case, setting) if setting.get("time") and not first else None
    return runs + ([(head + "-equal-time", max(1, round(equal_steps / cost)), ("time",))] if cost else [])


def read_rates(a):
    try:
        with open(os.path.join(a.out, "rates.json")) as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def relative_cost(a, study, case, setting):
    """Processor time of an epoch over that of the reference; None: not known yet."""
    known = read_rates(a).get(case["problem"] + case["target"], {})
    mine, others = known.get(setting["name"]), known.get(study["reference"])
    return mine / others if mine and others else None


PROBE = {"turns": 2, "samples": 80, "epochs": (1, 4)}


def probe(a, study, case, setting, epochs):
    """Processor seconds of a short run."""
    with tempfile.TemporaryDirectory(dir=a.out) as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([a.dkho, "train", "--data", data(a, study, case), "--target", case["target"], "-o", os.path.join(folder, "run"), "--epochs",
                        str(epochs), "--train-samples", str(PROBE["samples"]), *options_of(study, setting), "--quiet", "--threads", "1"],
                       check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_rates(a, study, case, wanted):
    """Writes what an epoch of the probe costs for the settings that lack it; the reference is measured beside them again."""
    key, rates = case["problem"] + case["target"], read_rates(a)
    lacking = [s for s in wanted if s.get("time") and s["name"] not in rates.get(key, {})]
    if not lacking:
        return
    first = next(s for s in settings(study, case) if s["name"] == study["reference"])
    fewer, more = PROBE["epochs"]
    each = {s["name"]: [] for s in [first, *lacking]}
    for turn in range(PROBE["turns"]):
        for s in [first, *(s for s in lacking if s["name"] != first["name"])]:
            each[s["name"]].append((probe(a, study, case, s, more) - probe(a, study, case, s, fewer)) / (more - fewer))
    again = min(each[first["name"]])
    scale = rates.get(key, {}).get(first["name"], again) / again  # later settings are put beside the first measurement
    rates.setdefault(key, {}).update({name: scale * min(values) for name, values in each.items()})
    with open(os.path.join(a.out, "rates.json"), "w") as f:
        json.dump(rates, f, indent=1)
    print("#", key, {name: round(value / again, 2) for name, value in ((n, min(v)) for n, v in each.items())}, flush=True)


def history(run):
    try:
        with open(os.path.join(run, "metrics.csv")) as f:
            return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(f)]
    except FileNotFoundError:
        return []


def options_of(study, setting):
    out = []
    for key, value in ({"batch": study["batch"]} | setting).items():
        for one in value if isinstance(value, list) else [value]:
            out += [TEXT[key], str(one)] if key in TEXT else []
    return out


def train(a, study, case, setting, seed, run, epochs):
    if os.path.exists(os.path.join(run, "result.json")):
        return
    if os.path.exists(os.path.join(run, "config.json")):
        command = [a.dkho, "train", "--resume", run]
    else:
        command = [a.dkho, "train", "--data", data(a, study, case), "--target", case["target"], "-o", run, "--epochs",
                   str(epochs), "--train-samples", str(size_of(study, case)[0]), "--seed", str(seed), *options_of(study, setting)]
    print("+", " ".join(command), flush=True)
    before, spent = resource.getrusage(resource.RUSAGE_CHILDREN), processor_seconds(run) or 0
    failed = subprocess.run(command + ["--quiet", "--threads", str(a.threads)], stdout=subprocess.DEVNULL).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if os.path.isdir(run):  # a resumed run adds up
        with open(os.path.join(run, "processor.json"), "w") as f:
            json.dump({"seconds": spent + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}, f)
    if failed:
        sys.exit(f"{run}: training failed; the same command goes on from here")


def data(a, study, case):
    """The data set: the one given, or one made here."""
    given = dict(item.split("=", 1) for item in a.data)
    path = given.get(case["problem"], os.path.join(a.out, case["problem"] + ".st"))
    if not os.path.exists(path):
        some = ["--samples", str(study["samples"])] if study.get("samples") else []
        subprocess.run([a.dkho, "data", case["problem"], "--resolution", study["resolution"], "--seed", str(study.get("seed", 42)), "-o",
                        path, "--quiet", *some], check=True, stdout=subprocess.DEVNULL)
    return path


def outcome(a, study, case, setting, seed, name, epochs):
    """What one run came to; None: it is not there."""
    run = os.path.join(a.out, name)
    h, samples = history(run), size_of(study, case)[0]
    if len(h) < epochs:
        return None
    out = {"val_rel_l2": h[-1]["val_rel_l2"], "best": min(e["val_rel_l2"] for e in h),
           "steps": epochs * -(-samples // setting.get("batch", study["batch"])), "seconds": h[-1]["seconds"]}
    if processor_seconds(run):
        out["processor_seconds"] = processor_seconds(run)
    if study.get("split") == "test":
        try:
            with open(os.path.join(run, "result.json")) as f:
                result = json.load(f)
        except FileNotFoundError:
            return None
        out |= {"seed": seed, "test_rel_l2": result["test"]["metrics"]["rel_l2"], "parameters": result["parameters"]}
    return out


def summary(study, found):
    """One row's entry: the single outcome, or means over the seeds."""
    if study.get("split") != "test":
        return found[0]
    each = [o["test_rel_l2"] for o in found]
    return {"test_rel_l2": statistics.mean(each), "spread": statistics.stdev(each) if len(each) > 1 else 0.0, "seeds": len(each),
            "each": each, "steps": found[0]["steps"], "parameters": found[0]["parameters"],
            "processor_seconds": statistics.median(o.get("processor_seconds", 0) for o in found)}


def collect(a, study):
    rows = []
    for case in study["cases"]:
        for setting in settings(study, case):
            row = {"case": name_of(study, case), "name": setting["name"]}
            found = {}
            for seed in seeds_of(study, case, setting):
                for name, epochs, answers in plan(a, study, case, setting, seed):
                    one = outcome(a, study, case, setting, seed, name, epochs)
                    for answer in answers if one else []:
                        found.setdefault(answer, []).append(one)
            rows.append(row | {answer: summary(study, all_seeds) for answer, all_seeds in found.items()})
    return rows


def table(study, rows):
    error = "test_rel_l2" if study.get("split") == "test" else "val_rel_l2"
    what = (f"mean of up to {len(seeds_of(study))} seeds; equal time means the reference's processor time" if error == "test_rel_l2" else
            f"seed {study.get('seed')}; equal time means equally many samples seen")
    out = [f"{'Test' if error == 'test_rel_l2' else 'Validation'} RelL2 after {study['steps']} steps of batch {study['batch']} (or what is "
           f"named) on {study['train_samples']} training samples, {study['resolution']} resolution, {what}.", ""]
    for case in dict.fromkeys(r["case"] for r in rows):
        mine = [r for r in rows if r["case"] == case]
        first = study.get("reference", "paper")
        reference = next((r for r in mine if r["name"] == first), {})
        out += [f"### {case}", "", f"| setting | equal steps | against {first} | equal time | against {first} | steps | seconds |",
                "|---|---|---|---|---|---|---|"]
        for r in mine:
            cells = []
            for answer in ("steps", "time"):
                here = r.get(answer, {}).get(error)
                there = reference.get(answer, reference.get("steps", {})).get(error)
                cells += [f"{here:.4f}" if here else "–", f"{100 * (here / there - 1):+.1f} %" if here and there else "–"]
            last = r.get("time") or r.get("steps") or {}
            seconds = last.get("processor_seconds", last.get("seconds"))
            cells += [str(last.get("steps", "–")), f"{seconds:.0f}" if seconds else "–"]
            out.append(f"| {r['name']} | " + " | ".join(cells) + " |")
        out.append("")
    return "\n".join(out)


def run_study(a, study):
    for seed in [s for s in seeds_of(study) if not a.table and s in (a.seeds or [s])]:
        for case in study["cases"]:
            wanted = [s for s in settings(study, case) if re.search(a.only, f"{name_of(study, case)} {s['name']}")
                      and seed in seeds_of(study, case, s)]
            if study.get("split") == "test":
                measure_rates(a, study, case, wanted)
            for setting in wanted:
                for run, epochs, _ in plan(a, study, case, setting, seed):
                    train(a, study, case, setting, seed, os.path.join(a.out, run), epochs)


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
    p.add_argument("--seeds", type=int, nargs="+", help="train only with these of the study's")
    p.add_argument("--table", action="store_true", help="train nothing")
    a = p.parse_args()
    with open(a.study) as f:
        study = json.load(f)
    for key in ("steps", "train_samples", "resolution", "samples"):
        if getattr(a, key):
            study[key] = getattr(a, key)
    os.makedirs(a.out, exist_ok=True)
    run_study(a, study)
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
