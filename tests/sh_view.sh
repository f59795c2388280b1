#!/usr/bin/env bash
# The page of `dkho view` in headless Chromium, driven by chromedriver: it loads without a word on the console, turns, changes
# field and sample, cuts, answers keys and fingers, and the values under the pointer are those of the files. Needs Chromium.
set -euo pipefail
source_dir=$1 build=$2 dkho=$2/dkho python=/usr/bin/python3
for need in chromium chromedriver "$python"; do
  command -v "$need" >/dev/null || { echo "skipped: no $need"; exit 77; }
done
if grep -q 'DKHO_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then echo "skipped: sanitizers are on"; exit 77; fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" data darcy --resolution smoke --samples 40 -o darcy.st --quiet
"$dkho" train --data darcy.st --target q --h 4 --layers 1 --epochs 1 -o run --quiet
"$dkho" predict run --data darcy.st -o all.st --quiet
"$dkho" data cavity --resolution smoke --samples 6 -o cavity.st --quiet
"$dkho" view run -o run.html
"$dkho" view cavity.st --samples 2 -o cavity.html
"$dkho" view "$source_dir/tests/data/mesh/torus.obj" -o torus.html
for refused in "run -o run.html" "all.st -o other.html" "none.st -o other.html" "run --split train2 -o other.html"; do
  # shellcheck disable=SC2086
  if "$dkho" view $refused 2>>refusals; then echo "not refused: view $refused"; exit 1; fi
done
[ "$(wc -l <refusals)" = 4 ] && ! [ -e other.html ]
for page in *.html; do
  if grep -qE '(src|href)=|https?://|fetch\(|XMLHttpRequest' "$page"; then echo "$page asks for other files"; exit 1; fi
done
"$python" - <<'PY'
import base64, hashlib, json, re, socket, struct, subprocess, tempfile, time, urllib.error, urllib.request

flags = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--window-size=1200,700",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
         "--user-data-dir=" + tempfile.mkdtemp(dir=".")]
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
driver = subprocess.Popen(["chromedriver", f"--port={port}", "--log-level=OFF"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"},
                                     method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.read().decode()[:400]}") from None


def wait(test, what):
    for _ in range(600):
        try:
            found = test()
        except (urllib.error.URLError, ConnectionError):
            found = None
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


def tensor(path, name):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    entry = json.loads(raw[8:8 + size])[name]
    first, last = (8 + size + n for n in entry["data_offsets"])
    kind = {"F32": "f", "I64": "q", "I32": "i"}[entry["dtype"]]
    return entry["shape"], struct.unpack(f"<{(last - first) // struct.calcsize(kind)}{kind}", raw[first:last])


class Page:
    def __init__(self, name):
        call("POST", session + "/url", {"url": f"file://{work}/{name}"})
        wait(lambda: self.js("return document.documentElement.dataset.ready"), f"{name} to be ready")
        self.settle()

    def js(self, script):
        return call("POST", session + "/execute/sync", {"script": script, "args": []})

    def settle(self):
        call("POST", session + "/execute/async",
             {"script": "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(1)));",
              "args": []})

    def actions(self, kind, steps, **more):
        call("POST", session + "/actions", {"actions": [{"type": kind, "id": kind, "actions": steps, **more}]})
        self.settle()

    def keys(self, text):
        self.actions("key", [{"type": t, "value": k} for k in text for t in ("keyDown", "keyUp")])

    def move(self, x, y):
        self.actions("pointer", [{"type": "pointerMove", "x": x, "y": y, "duration": 0}])

    def drag(self, x, y, dx, dy):
        self.actions("pointer", [{"type": "pointerMove", "x": x, "y": y, "duration": 0}, {"type": "pointerDown", "button": 0},
                                 {"type": "pointerMove", "x": x + dx, "y": y + dy, "duration": 50},
                                 {"type": "pointerUp", "button": 0}])

    def choose(self, menu, words):
        self.js(f"const m = document.getElementById('{menu}'); const o = [...m.options].find((o) => o.text.includes('{words}'));"
                "if (!o) throw new Error('no such entry'); m.value = o.value; m.dispatchEvent(new Event('change'));")
        self.settle()

    def click(self, button):
        self.js(f"document.getElementById('{button}').click()")
        self.settle()

    def text(self, name):
        return self.js(f"const e = document.getElementById('{name}'); return e.hidden ? '' : e.innerText")

    # The drawing as a hash, and the number of its colours.
    def picture(self):
        self.settle()
        image, colours = self.js(
            "const c = document.getElementById('canvas'), g = Object.assign(document.createElement('canvas'),"
            " {width: c.width, height: c.height}).getContext('2d'); g.drawImage(c, 0, 0);"
            "const d = new Uint32Array(g.getImageData(0, 0, c.width, c.height).data.buffer);"
            "return [c.toDataURL(), new Set(d).size]")
        return hashlib.sha256(image.encode()).hexdigest(), colours

    def changes(self, act, *arguments):
        before, _ = self.picture()
        act(*arguments)
        after, colours = self.picture()
        assert before != after and colours > 20, (act, arguments, colours)

    # {"where": …, row: value} of the box at the pointer.
    def probe(self):
        lines = self.text("probe").split("\n")
        out = {"where": lines[0]}
        for line in lines[1:]:
            name, _, value = line.partition("\t")
            digits = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
            out[name.strip()] = float(value.translate(digits).replace("×10", "e"))
        return out


def close(a, b):
    return abs(a - b) <= 2e-3 * max(abs(a), abs(b)) + 1e-6


def test_run():
    page = Page("run.html")
    assert page.picture()[1] > 200, page.picture()
    assert page.text("title") == "run" and "Betti numbers 1, 2, 0" in page.text("about")
    assert page.js("return [...document.querySelectorAll('.panel b')].map((e) => e.textContent)") == [
        "Reference", "Prediction", "Error"]
    assert "(median)" in page.js("return document.getElementById('sample').selectedOptions[0].text")
    sample = int(page.js("return document.getElementById('sample').selectedOptions[0].text").split()[0])
    page.move(120, 200)
    found = page.probe()
    edge = int(re.match(r"edge (\d+) ", found["where"])[1])
    (_, n, _), q = tensor("darcy.st", "c0/target/q")
    _, p = tensor("all.st", "prediction")
    y, p = q[sample * n + edge], p[list(tensor("all.st", "sample")[1]).index(sample) * n + edge]
    assert close(found["Reference"], y) and close(found["Prediction"], p) and close(found["Error"], abs(p - y)), (found, y, p)
    assert page.js("return [...document.querySelectorAll('.cross')].every((e) => !e.hidden)")
    parts = []
    for part in ("exact", "coexact", "harmonic"):
        page.changes(page.choose, "part", part)
        page.move(121, 200), page.move(120, 200)
        parts.append(page.probe())
    assert all(edge == int(re.match(r"edge (\d+) ", f["where"])[1]) for f in parts)
    for row, whole in (("Reference", y), ("Prediction", p)):
        assert abs(sum(f[row] for f in parts) - whole) < 1e-3 * max(map(abs, q)), (row, parts, whole)
    page.choose("part", "whole")
    page.keys("a"), page.keys("a")
    for act in (lambda: page.click("next"), lambda: page.click("log"), lambda: page.choose("field", "f (vertex)"),
                lambda: page.click("dots"), lambda: page.choose("field", "w (face)"), lambda: page.keys("["),
                lambda: page.choose("field", "harmonic 1-form 2"), lambda: page.keys("+"), lambda: page.drag(300, 300, 60, 20),
                lambda: page.choose("field", "mesh")):
        page.changes(act)
    print("run:", found)


def test_cavity():
    page = Page("cavity.html")
    page.changes(page.keys, "c")
    page.changes(page.keys, "y")
    page.changes(page.keys, "..")
    page.changes(page.drag, 600, 350, 120, 40)
    page.changes(page.choose, "channel", "component 1")
    page.changes(page.choose, "field", "area (face)")
    page.move(600, 360)
    found = page.probe()
    assert re.match(r"face \d+ \(", found["where"]) and found["area"] > 0, found
    page.changes(page.choose, "field", "length (edge)")
    print("cavity:", found)


def test_touch():
    page = Page("torus.html")
    assert page.text("title") == "torus.obj" and "Betti numbers 1, 2, 1" in page.text("about")

    def pinch():
        down = lambda x: [{"type": "pointerMove", "x": x, "y": 350, "duration": 0}, {"type": "pointerDown", "button": 0}]
        up = lambda x: [{"type": "pointerMove", "x": x, "y": 350, "duration": 80}, {"type": "pointerUp", "button": 0}]
        call("POST", session + "/actions", {"actions": [
            {"type": "pointer", "id": f"finger{i}", "parameters": {"pointerType": "touch"}, "actions": down(a) + up(b)}
            for i, (a, b) in enumerate([(560, 460), (640, 740)])]})

    page.changes(pinch)
    page.changes(page.drag, 600, 350, 100, 30)
    page.changes(page.keys, "\ue014")  # the right arrow
    page.changes(page.click, "reset")
    page.changes(page.choose, "field", "harmonic 1-form 1")
    page.keys("?")
    assert "touch" in page.text("keys").lower()


work = __import__("os").getcwd()
try:
    wait(lambda: call("GET", "/status")["ready"], "chromedriver")
    session = "/session/" + call("POST", "/session", {"capabilities": {"alwaysMatch": {
        "goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]
    try:
        for test in (test_run, test_cavity, test_touch):
            test()
            said = call("POST", session + "/se/log", {"type": "browser"})
            assert not said, said
        image = base64.b64decode(call("GET", session + "/screenshot"))
        assert image[:8] == b"\x89PNG\r\n\x1a\n" and len(image) > 20000, len(image)
    finally:
        call("DELETE", session)
finally:
    driver.terminate()
    driver.wait()
PY
echo "3 passed, 0 failed"
