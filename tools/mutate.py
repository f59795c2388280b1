#!/usr/bin/env python3
"""Do the tests notice when the numerics are wrong? Makes small mistakes in the sources of the numerics, one at a time, and runs the
tests that should see them.

A mutant is one token of one file changed: an arithmetic operator, a comparison, a constant, an index, a sign. The choice is seeded:
`--seed S --count N` always names the same mutants of the same sources. A mutant whose object file equals the original's is none and is
not counted; nor is one that does not compile. Each is compiled by itself and linked in front of the release build's library, so nothing in
the tree or the build is touched. The tests of the file's folder run one after another until one fails, first those that have killed most of
the folder's mutants for the time they take; a limit on processor time, four times what the test needs otherwise and five seconds, ends loops
that the mutant made endless. What tests need is kept in build/release/mutate.json until they are built again.

Usage: tools/mutate.py [--count 200] [--seed 1] [--only REGEX] [--report FILE] [--list] [--again REPORT]
Needs a release build (`make build`). The report is JSON lines; runs with the same report go on where the last one stopped.
--again REPORT tries only the survivors of an earlier report, to see whether new tests kill them. --record FILE adds what was tried, each mutant once, to
a file that sums up all runs (results/mutants.json); what it says of a survivor by hand, "why", stays. --check: whether all that the tables name is there."""
import argparse, datetime, hashlib, json, os, random, re, resource, shlex, shutil, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build/release")
# What counts as numerics; every line names files that there are (--check).
NUMERICS = [
    r"src/kern/fast/(columns|matrix|pointwise|product|relation|rows|vmath)\.h", r"src/kern/(ref|ref_rows)\.c", r"src/la/(?!chol_reuse)[a-z_]+\.c",
    r"src/dec/[a-z_]+\.c", r"src/problem/[a-z_]+\.c", r"src/nn/[a-z0-9_]+\.c", r"src/model/[a-z0-9_/]+\.c", r"src/base/(sum_tree|rng)\.c",
    r"src/run/(metrics|score|ridge|phase|alignment|rotation|reference|evaluate|pcanet)\.c",
    r"src/data/(features|feat_eval|feat_generic|static|dataset_commit|known)\.c",
    r"src/mesh/(cx_geom|cx_build|cx_quality|gen_[a-z]+|delaunay|raw_orient|raw_cut|raw_polygon|partition|partition_part|exchange|whitney)\.c",
]
# Folder (first match wins) → tests that should notice, cheapest first. Names: t_X and t64_X in build/release/tests, sh_X in tests/.
TESTS = [
    (r"src/base/sum_tree", "t_sum_tree t_ranks t_parts t_parts_runner"),
    (r"src/base/", "t_base t_nn t_dataset t_generate t_problem_draw"),
    (r"src/kern/", "t64_ops t_nn t_batch t_twin t_model t_kern_rows t_fused t_kern t_kern_rows t64_fused t64_models"),
    (r"src/la/newton", "t_newton t_problem_start t_problem_elasticity t_problem_closed t_problem_flow t_problem_hts"),
    (r"src/la/", "t_newton t_la t_dec t_spectrum t_problem_more t_nn t64_optim t_reference t_problem_flow"),
    (r"src/dec/part", "t_partition t_parts t_parts_runner"),
    (r"src/dec/", "t_stars t_dec t_features t_spectrum t_problem_more t_oracle_export t_problem_locate t_twin t_api t_partition sh_oracle"),
    (r"src/problem/maxwell", "t_problem_maxwell t_problem_driver sh_oracle"),
    (r"src/problem/(heat|reaction)", "t_problem_draw t_problem_more t_problem_driver sh_oracle"),
    (r"src/problem/darcy", "t_problem_draw t_problem_darcy t_problem_driver sh_oracle"),
    (r"src/problem/torus", "t_problem_draw t_problem_torus t_problem_driver sh_oracle"),
    (r"src/problem/cavity", "t_problem_draw t_problem_cavity t_problem_driver sh_oracle"),
    (r"src/problem/(taylor|flow)", "t_problem_draw t_problem_flow t_problem_start t_problem_coarse t_problem_driver sh_oracle"),
    (r"src/problem/(elastic)", "t_problem_draw t_problem_elasticity t_problem_driver sh_oracle"),
    (r"src/problem/(waves)", "t_problem_draw t_problem_waves t_problem_driver sh_oracle"),
    (r"src/problem/(hts|wires|critical)", "t_problem_draw t_problem_hts t_problem_coarse t_problem_driver sh_oracle"),
    (r"src/problem/magnetostatics", "t_problem_magnetostatics t_problem_draw t_problem_driver sh_oracle"),
    (r"src/problem/coarse", "t_problem_coarse t_problem_driver t_problem_hts"),
    (r"src/problem/(closed|iron|lamination|wells|subsonic)", "t_problem_draw t_problem_closed t_problem_start t_problem_coarse t_problem_driver sh_oracle"),
    (r"src/problem/locate", "t_problem_locate t_problem_coarse"),
    (r"src/problem/", "t_problem_draw t_problem_maxwell t_problem_more t_problem_closed t_problem_waves t_problem_elasticity t_problem_darcy t_problem_torus t_problem_hts "
                      "t_problem_coarse t_problem_magnetostatics t_problem_start t_problem_cavity t_problem_flow t_problem_locate t_problem_driver sh_oracle"),
    (r"src/nn/optim_share", "t_ranks t64_optim t_nn t_parts_runner t_checkpoint t_runner"),
    (r"src/nn/(optim|engine_step)", "t64_optim t_nn t_model t_models_train t_runner t_checkpoint t_ranks"),
    (r"src/nn/state", "t_checkpoint t_poison t_runner t_begin"),
    (r"src/nn/", "t_params t64_optim t64_ops_grid t_batch t_twin t64_ops t_model t64_twin t_nn t_baselines t64_batch t64_baselines t_models_train t64_fused t_fused t_study_models"),
    (r"src/model/dkho/fused_(share|share_sum)", "t_parts t_parts_runner t_fused"),
    (r"src/model/dkho/", "t_twin t64_twin t_phase_update t64_fused t_fused t_models_train t_runner t64_dkho t64_models t64_dkho_x t64_runner t_parts"),
    (r"src/model/", "t_models t_model t_batch t_twin t64_twin t_baselines t64_baselines t_models_train t64_models t64_dkho t64_dkho_x t_known t64_known t_api_learn t_api_predict"),
    (r"src/run/pcanet", "t_reference sh_curve"),
    (r"src/run/", "t_ranks t_metrics_oracle t_phase t_phase_update t_metrics t_unseen t_models_train t_runner t_reference t_api_learn t_api_predict t_parts_api t_view"),
    (r"src/data/known", "t_known t64_known t_import t_dataset"),
    (r"src/data/", "t_features t64_features t_static t_dataset t_dataset_bad t_unseen t_import t_metrics t_twin t_poison"),
    (r"src/mesh/(partition|exchange)", "t_partition t_parts t_parts_runner"),
    (r"src/mesh/", "t_mesh_repair t_meshio t_stars t_cx_store t_cx t_dec t_mesh_formats t_generate t_problem_locate t_report"),
]

def tests_of(path):
    return next(t for pattern, t in TESTS if re.match(pattern, path))

# ---------------------------------------------------------------- finding places

def code_only(text):
    """Comments, strings and preprocessor lines blanked out, all offsets kept."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group())
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)
    return re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text)

def skipped(line):
    """Lines whose mistakes are not numerical: sizes of allocations, errors, assertions, declarations of tables and types."""
    return re.search(r"\b(assert|static_assert|fail|MEM_NEW|ARENA_NEW|mem_alloc|mem_free|arena_\w+|sizeof|memcpy|memset|include|typedef|enum|pool_run"
                     r"|rng_open|dkho_status|snprintf|json_\w+|pthread_\w+|unlikely)\b", line)

def bodies(code):
    """Ranges of functions' bodies: from a line that ends in ') {' in column 0 style to the closing brace in column 0."""
    for m in re.finditer(r"(?m)^[a-z_][^\n;=]*(?:\n[^\n;={}]*)?\)\s*\{\n(.*?)^\}", code, flags=re.S):
        yield m.start(1), m.end(1)

BINARY = r"(?<=[\w\])]) (\+|-|\*|/) (?=[\w(*&-])"
PATTERNS = {
    "arithmetic": [(BINARY, lambda t: {"+": "-", "-": "+", "*": "/", "/": "*"}[t]), (r"(?<= )(\+=|-=|\*=|/=)(?= )", lambda t: {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}[t])],
    # in the head of a loop the last turn is left out; a turn too many is AddressSanitizer's to find
    "comparison": [(r"(?<=; )(\w+ < )(?=[\w(][^;]*; )", lambda t: t.replace(" <", " + 1 <")), (r"(?<!; \w)(?<!; \w\w)(?<!; \w\w\w)(?<!; \w\w\w\w)(?<=[\w\])]) (<|<=|>|>=|==|!=) (?=[\w(&*-])", lambda t: {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}[t])],
    "constant": [(r"(?<![\w.\[])(\d+\.\d*(?:e-?\d+)?|\d+e-?\d+)(?![\w.])", lambda t: "(%s * 1.07)" % t), (r"(?<![\w.\[])(\d+)(?![\w.])", lambda t: "(%s + 1)" % t)],
    "index": [(r"\[([^\[\]]+)\]", lambda t: "%s + 1" % t)],
    "sign": [(r"(?<=[=(,?:] )(-)(?=[\w(])|(?<=[(,])(-)(?=[\w(])|(?<=return )(-)(?=[\w(])", lambda t: "+"), (r"(?<= [+-]= )([^;{}\n]+)(?=;)|(?<=return )([a-z][^;{}\n]*[*/][^;{}\n]*)(?=;)", lambda t: "-(%s)" % t)],
}

def places(path):
    """(line, kind, start, end, replacement) of every possible mistake in a file."""
    text = open(os.path.join(ROOT, path)).read()
    code, found = code_only(text), []
    inside = list(bodies(code))
    for kind, patterns in PATTERNS.items():
        for pattern, change in patterns:
            for m in re.finditer(pattern, code):
                group = next(i for i, g in enumerate(m.groups(), 1) if g is not None)
                start, end = m.span(group)
                if not any(a <= start < b for a, b in inside): continue
                first = code.rfind("\n", 0, start) + 1
                line = code[first:code.find("\n", start)]
                if skipped(line) or (kind == "index" and re.match(r"\s*(const |static )*\w+ \**\w+\[", line)): continue
                found.append((text.count("\n", 0, start) + 1, kind, start, end, change(m.group(group))))
    return sorted(found)

def choose(count, seed, only):
    """Files in a shuffled order, again and again; from each a kind, then a place: large files do not crowd out small ones."""
    files = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [f for f in files if any(re.fullmatch(p, f) for p in NUMERICS) and re.search(only, f)]
    rng, left, chosen = random.Random(seed), {}, []
    for f in files:
        by_kind = {}
        for p in places(f): by_kind.setdefault(p[1], []).append(p)
        if by_kind: left[f] = by_kind
    weight = {f: sum(map(len, left[f].values())) for f in left}
    while left and len(chosen) < count:
        f = rng.choices(sorted(left), [weight[x] ** 0.5 for x in sorted(left)])[0]
        kind = rng.choice(sorted(left[f]))
        chosen.append((f,) + left[f][kind].pop(rng.randrange(len(left[f][kind]))))
        if not left[f][kind]: del left[f][kind]
        if not left[f]: del left[f]
    return chosen

# ---------------------------------------------------------------- building and running

COMMANDS = {}
def commands(path):
    """Compile commands of a source: {object library: argument list}; kernels are compiled once per instruction set."""
    if not COMMANDS:
        for entry in json.load(open(os.path.join(BUILD, "compile_commands.json"))):
            args = shlex.split(entry["command"])
            while args[0].endswith("ccache"): args.pop(0)
            output = args[args.index("-o") + 1]
            COMMANDS.setdefault(os.path.relpath(entry["file"], ROOT), {})[output] = args
    return COMMANDS.get(path, {})

def affected(path):
    """Kernels are included by a table that is compiled per instruction set; other sources are compiled themselves."""
    compiled = "src/kern/fast/table.c" if path.startswith("src/kern/fast/") else path
    return commands(compiled), compiled

def compile_to(args, source, output, where):
    args = [a for a in args if a not in ("-g", "-Werror")]
    args[args.index("-o") + 1] = output
    args[args.index("-c") + 1] = source
    args[1:1] = ["-w", "-I" + os.path.join(where, "src")]
    return subprocess.run(args, cwd=BUILD, capture_output=True).returncode == 0

def link_command(test):
    """The release build's own link line of a test."""
    out = subprocess.run(["ninja", "-t", "commands", "-s", test], cwd=BUILD, capture_output=True, text=True).stdout.strip().splitlines()[-1]
    out = out.split("&& ")[1] if "&& " in out else out
    return shlex.split(out)

def limited(seconds):
    def apply():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return apply

def run_limited(argv, seconds, **more):
    """Status and processor seconds; the wall clock is limited generously, for loops that sleep."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        status = subprocess.run(argv, preexec_fn=limited(seconds), timeout=30 * seconds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more).returncode
    except subprocess.TimeoutExpired: status = -99
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

class Bench:
    def __init__(self, room, done=()):
        self.room, self.times, self.ran, self.kills = room, os.path.join(BUILD, "mutate.json"), {}, {}
        self.usual = json.load(open(self.times)) if os.path.exists(self.times) else {}
        for e in done: self.learn(e["file"], e.get("ran", []), e["by"])

    def learn(self, path, ran, killer):
        """Of the tests for this folder: how often each ran, and how often it killed."""
        folder = tests_of(path)
        for test in ran: self.ran[folder, test] = self.ran.get((folder, test), 0) + 1
        if killer: self.kills[folder, killer.split()[0]] = self.kills.get((folder, killer.split()[0]), 0) + 1

    def order(self, path):
        """Kills for the time they take; a test that was not tried yet counts as one that kills every third."""
        folder, places = tests_of(path), {}
        for i, t in enumerate(folder.split()): places.setdefault(t, i)
        seconds = lambda t: self.usual[t][1] if t in self.usual else 1 + places[t]
        rate = lambda t: (self.kills.get((folder, t), 0) + 0.3) / (self.ran.get((folder, t), 0) + 1)
        return sorted((t for t in places if self.exists(t)), key=lambda t: (0.2 + seconds(t)) / rate(t))

    def link(self, target, output, objects):
        """The release build's own link line with the mutant's objects: in place of its own in a library, in front of the library in a test."""
        args = link_command(target)
        args[args.index("-o") + 1] = output
        if target.startswith("tests/"):
            wide = target.startswith("tests/t64_")
            mine = [o for name, o in objects.items() if "obj" not in name.split("/")[1] or ("obj64" in name) == wide]
            at = next(i for i, a in enumerate(args) if a.endswith(".a"))
            args[at:at] = mine
        else: args = [objects.get(a, a) for a in args]
        if subprocess.run(args, cwd=BUILD, capture_output=True).returncode: raise RuntimeError("cannot link " + target)
        return output

    def argv(self, test, objects):
        """What to run; with objects: linked with the mutant. Scripts get a build that has the tool, its library and what they export with."""
        env = dict(os.environ, OPENBLAS_NUM_THREADS="1")
        if test.startswith("sh_"):
            build = BUILD
            if objects:
                build = os.path.join(self.room, "build")
                os.makedirs(os.path.join(build, "tests"), exist_ok=True)
                if not os.path.exists(os.path.join(build, "dkho")): os.symlink(os.path.join(BUILD, "dkho"), os.path.join(build, "dkho"))
                self.link(os.path.basename(os.path.realpath(os.path.join(BUILD, "libdkho.so"))), os.path.join(build, "libdkho.so.0"), objects)
                self.link("tests/t_oracle_export", os.path.join(build, "tests/t_oracle_export"), objects)
                env["LD_LIBRARY_PATH"] = build
            return ["bash", os.path.join(ROOT, "tests", test + ".sh"), ROOT, build], dict(env=env, cwd=self.room)
        binary = self.link("tests/" + test, os.path.join(self.room, "test"), objects) if objects else os.path.join(BUILD, "tests", test)
        return [binary], dict(env=env, cwd=os.path.join(BUILD, "tests"))

    def seconds(self, test):
        file = os.path.join(ROOT, "tests", test + ".sh") if test.startswith("sh_") else os.path.join(BUILD, "tests", test)
        built = os.path.getmtime(file)
        if test not in self.usual or self.usual[test][0] != built:
            argv, more = self.argv(test, None)
            status, spent = run_limited(argv, 600, **more)
            if status not in (0, 77): raise SystemExit("mutate: %s fails without a mutant (status %d)" % (test, status))
            self.usual[test] = [built, spent]
            json.dump(self.usual, open(self.times, "w"))
        return self.usual[test][1]

    def exists(self, test):
        return os.path.exists(os.path.join(ROOT, "tests", test + ".sh") if test.startswith("sh_") else os.path.join(BUILD, "tests", test))

    def verdict(self, path, objects):
        """(killed by, tests run)."""
        ran, killer = [], None
        for test in self.order(path):
            usual = self.seconds(test)
            argv, more = self.argv(test, objects)
            status, _ = run_limited(argv, int(4 * usual + 5), **more)
            ran.append(test)
            if status in (0, 77): continue
            killer = test + (" (time)" if status in (-24, -9, -99) else "")
            break
        self.learn(path, ran, killer)
        return killer, ran

ORIGINAL = {} # object of the release build: the bytes that the unchanged source gives
def build_mutant(room, path, place):
    """{object of the release build: mutant's object}, or None: does not compile, or is the same program."""
    text = open(os.path.join(ROOT, path)).read()
    where = os.path.join(room, "tree")
    shutil.rmtree(where, ignore_errors=True)
    table, compiled = affected(path)
    target, source = os.path.join(where, path), os.path.join(where, compiled)
    os.makedirs(os.path.dirname(target))
    shutil.copy(os.path.join(ROOT, compiled), source)
    objects, differs = {}, False
    for i, (name, args) in enumerate(sorted(table.items())):
        new = os.path.join(room, "m%d.o" % i)
        if name not in ORIGINAL:
            open(target, "w").write(text)
            if not compile_to(args, source, new, where): raise SystemExit("mutate: %s does not compile" % path)
            ORIGINAL[name] = open(new, "rb").read()
        open(target, "w").write(text[:place[2]] + place[4] + text[place[3]:])
        if not compile_to(args, source, new, where): return None
        differs |= open(new, "rb").read() != ORIGINAL[name]
        objects[name] = new
    return objects if differs else None

def describe(path, place):
    text = open(os.path.join(ROOT, path)).read()
    line = text.splitlines()[place[0] - 1].strip()
    return {"file": path, "line": place[0], "kind": place[1], "found": text[place[2]:place[3]], "made": place[4], "code": line,
            "column": place[2] - text.rfind("\n", 0, place[2])}

def key(entry):
    return hashlib.sha1(json.dumps([entry[k] for k in ("file", "code", "kind", "found", "made", "column")]).encode()).hexdigest()[:12]

def summary(entries):
    tried = [e for e in entries if e["verdict"] != "none"]
    killed = [e for e in tried if e["verdict"] == "killed"]
    print("mutate: %d tried, %d killed (%.1f %%), %d survive" % (len(tried), len(killed), 100 * len(killed) / max(1, len(tried)), len(tried) - len(killed)))
    for kind in PATTERNS:
        mine = [e for e in tried if e["kind"] == kind]
        if mine: print("  %-11s %3d of %3d" % (kind, sum(e["verdict"] == "killed" for e in mine), len(mine)))
    for e in tried:
        if e["verdict"] == "survives": print("  survives: %s:%d:%d %s: '%s' -> '%s' in: %s" % (e["file"], e["line"], e["column"], e["kind"], e["found"], e["made"], e["code"]))

def record(path, entries, seed):
    """Adds to the sum of all runs what is new in these entries; a survivor that was killed since is moved."""
    book = json.load(open(path))
    known, new = book["mutants"], {"tried": 0, "killed": 0}
    for e in (e for e in entries if e["verdict"] != "none"):
        k, killed = key(e), e["verdict"] == "killed"
        if k in known:
            if killed and known[k] == "survives": book["killed_later"] += 1
        else: new["tried"] += 1; new["killed"] += killed
        known[k] = e["by"].split()[0] if killed else known.get(k, "survives")
        where = "%s: %s" % (e["file"], e["code"])
        if not killed and known[k] == "survives": book["survivors"].setdefault(k, {"where": where, "change": "%s -> %s" % (e["found"], e["made"]), "why": "?"})
        if killed: book["survivors"].pop(k, None)
    if new["tried"]:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        book["log"].append(dict({"date": str(datetime.date.today()), "commit": commit, "seed": seed}, **new))
    book["total"]["tried"] = sum(r["tried"] for r in book["log"])
    book["total"]["killed"] = sum(r["killed"] for r in book["log"]) + book["killed_later"]
    book["total"]["survive"] = book["total"]["tried"] - book["total"]["killed"]
    json.dump(book, open(path, "w"), indent=1, ensure_ascii=False)

def check():
    """What the tables name is there: every pattern fits a file, every test has a source, every file of the numerics has tests."""
    bad, files = [], subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for p in NUMERICS:
        for name in re.sub(r".*/\(([^()?]*)\).*", r"\1", p).split("|") if re.search(r"/\([^?]", p) else [p]:
            one = p if name == p else re.sub(r"/\([^()]*\)", lambda m: "/" + name, p)
            if not any(re.fullmatch(one, f) for f in files): bad.append("no file fits " + one)
    for pattern, tests in TESTS:
        if not any(re.match(pattern, f) for f in files): bad.append("no file fits " + pattern)
        for t in tests.split():
            source = t + ".sh" if t.startswith("sh_") else "f64/test_%s.c" % t[4:] if t.startswith("t64_") else "test_%s.c" % t[2:]
            if not os.path.exists(os.path.join(ROOT, "tests", source)): bad.append("%s: there is no tests/%s" % (pattern, source))
    bad += ["no tests for " + f for f in files if any(re.fullmatch(p, f) for p in NUMERICS) and not any(re.match(p, f) for p, _ in TESTS)]
    for line in bad: print("mutate: " + line, file=sys.stderr)
    return len(bad) > 0

def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--count", type=int, default=200), a.add_argument("--seed", type=int, default=1), a.add_argument("--only", default="")
    a.add_argument("--report", default=os.path.join(BUILD, "mutants.jsonl")), a.add_argument("--list", action="store_true"), a.add_argument("--again")
    a.add_argument("--summary", action="store_true"), a.add_argument("--seconds", type=float, default=1e9), a.add_argument("--record")
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    if o.check: return check()
    chosen = choose(3 * o.count, o.seed, o.only)
    if o.list:
        for f, *p in chosen[:o.count]: print("%s:%d %s: %s -> %s" % (f, p[0], p[1], describe(f, p)["found"], p[4]))
        return 0
    done = [json.loads(line) for line in open(o.report)] if os.path.exists(o.report) else []
    if o.summary: return summary(done)
    known, again = {key(e): e for e in done}, None
    if o.again: again = {key(e) for e in map(json.loads, open(o.again)) if e["verdict"] == "survives"}
    tried, began = 0, time.time()
    with tempfile.TemporaryDirectory() as room:
        bench = Bench(room, done)
        for f, *p in chosen:
            e = describe(f, p)
            if again is not None and key(e) not in again: continue
            if key(e) in known:
                tried += known[key(e)]["verdict"] != "none"
                if tried >= o.count: break
                continue
            if time.time() - began > o.seconds: break
            objects, start = build_mutant(room, f, p), time.time()
            killer, ran = bench.verdict(f, objects) if objects else (None, [])
            e.update(verdict="none" if not objects else "killed" if killer else "survives", by=killer, ran=ran, seconds=round(time.time() - start, 1))
            done.append(e)
            with open(o.report, "a") as out: out.write(json.dumps(e) + "\n")
            print("%s:%d %s '%s' -> '%s': %s" % (f, e["line"], e["kind"], e["found"], e["made"], e["by"] or e["verdict"]), flush=True)
            tried += e["verdict"] != "none"
            if tried >= o.count: break
    summary(done)
    if o.record: record(o.record, done, o.seed)
    return 0

if __name__ == "__main__": sys.exit(main())
