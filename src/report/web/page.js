// page.js: the state of the page and its panels: what is shown, where, and how it is drawn.

const ARROWS = ["field", "along edges", "none"];
const plainField = {name: "mesh", group: "", degree: -1, channels: 1, fixed: true};
const fields = [...index.fields, plainField];
const firstField = fields.findIndex((f) => f === plainField || f.group === "targets" || f.group === "inputs");
const state = {field: firstField, sample: 0, part: "whole", channel: -1, mesh: true, dots: false, arrows: ARROWS[0], log: false,
               same: false, cut: false, axis: 0, depth: 0.5};
const complexes = index.complexes.map(() => null);
let painter, cx, camera, shape, panels = [], waiting = false, probe = null;

const field = () => fields[state.field];
const complexNumber = () => index.samples[state.sample].complex;

// ---- panels ----

function makePanel(title) {
  const box = document.createElement("div");
  box.className = "panel";
  box.innerHTML = '<div class="caption"><b></b><span></span></div><canvas></canvas><div class="cross" hidden></div>';
  box.querySelector("b").textContent = title;
  element("stage").insertBefore(box, element("probe"));
  return {title, box, note: box.querySelector("span"), bar: box.querySelector("canvas"),
          cross: box.querySelector(".cross")};
}

// Reference, prediction, error; or one panel for a field without a prediction.
function preparePanels(titles) {
  if (panels.length === titles.length && panels.every((p, i) => p.title === titles[i])) return;
  panels.forEach((p) => p.box.remove());
  panels = titles.map(makePanel);
  arrange();
}

// Side by side, or on top of each other on a narrow screen.
function arrange() {
  const stage = element("stage"), w = stage.clientWidth, h = stage.clientHeight, n = panels.length;
  const stacked = n > 1 && w < 1.1 * h, ratio = window.devicePixelRatio || 1, canvas = element("canvas");
  stage.classList.toggle("stacked", stacked);
  canvas.width = Math.round(w * ratio), canvas.height = Math.round(h * ratio);
  panels.forEach((p, i) => {
    Object.assign(p, stacked ? {x: 0, y: i * h / n, w, h: h / n} : {x: i * w / n, y: 0, w: w / n, h});
    for (const [side, key] of [["left", "x"], ["top", "y"], ["width", "w"], ["height", "h"]]) p.box.style[side] = `${p[key]}px`;
    // The scene leaves room for the caption above and the colour bar below.
    p.inner = {x: p.x, y: p.y + 30, w: p.w, h: Math.max(p.h - 30 - (p.scale ? 48 : 8), 20)};
  });
  redraw();
}

// ---- what is shown ----

function rawOf(sample) {
  const y = numbersOf(field(), "value", sample, state.part), p = numbersOf(field(), "prediction", sample, state.part);
  return {y, p};
}

// Values of the panels of a sample: one number a simplex in each.
function scalarsIn({y, p}) {
  const f = field(), out = [];
  if (y) out.push(scalarsOf(f, y, state.channel, false));
  if (p) out.push(scalarsOf(f, p, state.channel, false));
  if (y && p) out.push(errorsOf(f, y, p));
  return out;
}

function scales(lists) {
  const samples = state.same && !field().fixed ? index.samples.map((_, i) => i) : [state.sample];
  const ranges = [];
  for (const s of samples) {
    const own = s === state.sample ? lists : scalarsIn(rawOf(s));
    own.forEach((list, i) => (ranges[i] = [...(ranges[i] || []), list]));
  }
  const first = scaleOf(rangeOf(...ranges[0]));
  return lists.map((_, i) => (i < 2 ? first : errorScale(rangeOf(...ranges[i]), state.log)));
}

const norm = (u) => Math.sqrt(u.reduce((s, v) => s + v * v, 0));

function refreshShape() {
  const n = complexNumber();
  if (!complexes[n]) complexes[n] = new Complex(index.complexes[n]);
  if (cx !== complexes[n]) {
    cx = complexes[n];
    camera = new Camera(cx);
  }
  const degree = field().degree, k = state.axis, at = cx.low[k] + state.depth * (cx.high[k] - cx.low[k]);
  const away = k === 1 ? -1 : 1; // the side of the eye in the first view is taken off
  const plane = cx.dim === 3 && state.cut ? (p) => away * (p[k] - at) : null, whole = degree === 1 || degree === 2;
  const key = [n, plane ? k : -1, plane ? at : 0, plane ? whole : 0].join();
  if (shape && shape.key === key) return;
  shape = shapeOf(cx, plane, whole);
  shape.key = key;
  painter.keep("triangles", shape.triangles.at);
  painter.keep("strokes", shape.strokes.at);
  const points = new Float32Array(3 * shape.vertices.length);
  shape.vertices.forEach((v, i) => points.set(cx.x.subarray(3 * v, 3 * v + 3), 3 * i));
  painter.keep("vertices", points);
}

function refreshValues() {
  const f = field();
  if (f.degree < 0) {
    preparePanels([""]);
    Object.assign(panels[0], {scale: null, raw: null});
    return arrange();
  }
  const raw = rawOf(state.sample), lists = scalarsIn(raw), chosen = scales(lists);
  preparePanels(raw.p ? ["Reference", "Prediction", "Error"] : [f.name]);
  panels.forEach((p, i) => {
    p.values = lists[i], p.scale = chosen[i], p.raw = [raw.y, raw.p][i];
    painter.keep(`surface${i}`, triangleValues(cx, shape, f.degree, lists[i]));
    painter.keep(`strokes${i}`, f.degree === 1 ? strokeValues(shape, lists[i]) : null);
    painter.keep(`heads${i}`, f.degree === 1 && f.channels === 1 && p.raw ? strokeValues(shape, p.raw) : null);
    painter.keep(`discs${i}`, f.degree === 0 ? Float32Array.from(shape.vertices, (v) => lists[i][v]) : null);
    p.note.textContent = "", p.cell = 0;
  });
  if (raw.p) panels[2].note.textContent = `relative L² ${numberText(norm(lists[2]) / (norm(raw.y) || 1))}`;
  arrange();
}

// Arrows are thinned to what is seen: about one in every 26 pixels, at any zoom.
function refreshArrows() {
  const f = field(), wanted = state.arrows === "field" && f.degree >= 0 && hasDirection(cx, f);
  const apart = 2 ** (Math.round(2 * Math.log2(26 / pixelsPerLength(panels[0]))) / 2);
  const cell = Math.max(apart, 0.7 * cx.meanEdge);
  panels.forEach((p, i) => {
    const due = wanted && p.raw ? cell : -1;
    if (p.cell === due) return;
    p.cell = due;
    painter.keep(`arrows${i}`, due > 0 ? arrowsOf(cx, shape, f, p.raw, cell) : null);
  });
}

// ---- drawing ----

const pixelsPerLength = ({inner}) => camera.zoom * inner.w / 2 / camera.extent(inner.w, inner.h)[0] / cx.radius;

function drawPanel(p, i) {
  const ratio = window.devicePixelRatio || 1, {x, y, w, h} = p.inner, f = field();
  const box = [x, element("stage").clientHeight - y - h, w, h].map((v) => Math.round(v * ratio));
  painter.panel(box, camera.matrix(w, h), camera.axes(), p.scale);
  const edge = cx.meanEdge * pixelsPerLength(p);
  const ink = (alpha) => [0.11, 0.153, 0.2, alpha], byValue = f.degree >= 0, asLines = f.degree === 1;
  const lone = cx.dim < 2;
  // Edges that are short on the screen leave their colour to the faces between them.
  const pale = asLines ? Math.min(Math.max((edge - 5) / 25, 0), 0.6) : 0;
  if (byValue) painter.surface(`surface${i}`, {by_value: 1, pale});
  else painter.surface("none", {plain: [0.80, 0.86, 0.93, 1], lit: camera.flat ? 0 : 1});
  if (asLines)
    painter.strokes(`strokes${i}`, {by_value: 1, nearer: 0.002, size: ratio * Math.min(Math.max(0.17 * edge, 1.3), 7)});
  else if (state.mesh || lone)
    painter.strokes("none", {plain: ink(lone ? 0.8 : Math.min(0.05 + edge / 90, 0.4)), nearer: 0.001, size: ratio});
  if (asLines && state.arrows === "along edges")
    painter.heads(`heads${i}`, {plain: ink(1), nearer: 0.004, size: ratio * 7});
  painter.arrows(`arrows${i}`, {plain: [1, 1, 1, 0.8], nearer: 0.02, grown: 1.1 * ratio});
  painter.arrows(`arrows${i}`, {plain: ink(1), nearer: 0.02, grown: 0});
  if (state.dots || (lone && f.degree <= 0))
    painter.discs(`discs${i}`, {by_value: f.degree === 0 ? 1 : 0, plain: [1, 1, 1, 1], nearer: 0.005,
                                size: ratio * Math.min(Math.max(0.28 * edge, 4), 16)});
}

function draw() {
  waiting = false;
  refreshArrows();
  painter.clear([0.984, 0.988, 0.992, 1]);
  panels.forEach(drawPanel);
  showProbe();
}

function redraw() {
  if (waiting || !painter) return;
  waiting = true;
  requestAnimationFrame(draw);
}
