// field.js: the numbers of fields: reference, prediction and their difference; Hodge parts; sizes and ranges; the values of
// a field at the corners of what is shown; directions.

const MISSING = -3e38; // stands for a number that is not finite
const parts = ["whole", "exact", "coexact", "harmonic"];

const layerId = (field, layer, at) => (field[layer] || {})[at];

function harmonicBasis(complex, degree) {
  const id = (f) => layerId(f, "value", complex);
  return index.fields.filter((f) => f.group === "harmonic" && f.degree === degree && id(f)).map((f) => floats(id(f)));
}

// Σ (h·u) h over an orthonormal basis, channel by channel.
function harmonicPart(u, channels, basis) {
  const out = new Float32Array(u.length);
  for (const h of basis)
    for (let c = 0; c < channels; c++) {
      let dot = 0;
      for (let i = 0; i < h.length; i++) dot += h[i] * u[i * channels + c];
      for (let i = 0; i < h.length; i++) out[i * channels + c] += dot * h[i];
    }
  return out;
}

// The numbers of a field for a sample: layer "value" or "prediction", part of `parts`. Null when there are none.
function numbersOf(field, layer, sample, part) {
  const complex = index.samples[sample].complex, at = field.fixed ? complex : sample;
  if (!layerId(field, layer, at)) return null;
  const whole = floats(layerId(field, layer, at));
  if (part === "whole") return whole;
  const harmonic = harmonicPart(whole, field.channels, harmonicBasis(complex, field.degree));
  if (part === "harmonic") return harmonic;
  const exact = floats(layerId(field, layer + "_exact", at));
  return part === "exact" ? exact : whole.map((v, i) => v - exact[i] - harmonic[i]);
}

const hasParts = (field, sample) => Boolean(layerId(field, "value_exact", sample));

// Shares of the squared norm: exact, coexact, harmonic.
function partShares(field, sample) {
  const square = (u) => u.reduce((s, v) => s + v * v, 0);
  const all = parts.map((p) => square(numbersOf(field, "value", sample, p)));
  return all.slice(1).map((v) => v / (all[0] || 1));
}

// One number a simplex: a channel, or the norm of several (channel -1). The sign of an edge value is a choice of direction,
// which arrows show, so its size is shown unless `signed`.
function scalarsOf(field, u, channel, signed) {
  const c = field.channels, out = new Float32Array(u.length / c);
  for (let i = 0; i < out.length; i++) {
    let v = c === 1 ? u[i] : u[i * c + channel];
    if (channel < 0 && c > 1) {
      v = 0;
      for (let k = 0; k < c; k++) v += u[i * c + k] ** 2;
      v = Math.sqrt(v);
    }
    if (field.degree === 1 && !signed) v = Math.abs(v);
    out[i] = Number.isFinite(v) ? v : MISSING;
  }
  return out;
}

function errorsOf(field, y, p) {
  const c = field.channels, out = new Float32Array(y.length / c);
  for (let i = 0; i < out.length; i++) {
    let s = 0;
    for (let k = 0; k < c; k++) s += (p[i * c + k] - y[i * c + k]) ** 2;
    out[i] = Number.isFinite(s) ? Math.sqrt(s) : MISSING;
  }
  return out;
}

function rangeOf(...lists) {
  const r = {low: Infinity, high: -Infinity, positive: Infinity};
  for (const list of lists)
    for (const v of list) {
      if (v === MISSING) continue;
      r.low = Math.min(r.low, v), r.high = Math.max(r.high, v);
      if (v > 0) r.positive = Math.min(r.positive, v);
    }
  return r.low <= r.high ? r : {low: 0, high: 1, positive: 1};
}

// Colours for a range, as the figures of the library choose them: about zero when both signs matter, from zero when it
// starts near it.
function scaleOf(range) {
  const size = Math.max(Math.abs(range.low), Math.abs(range.high)) || 1;
  if (range.low < -0.05 * size && range.high > 0.05 * size)
    return {map: "diverging", low: -size, high: size, log: false};
  const low = range.low >= 0 && range.low < 0.2 * range.high ? 0 : range.low;
  return {map: "sequential", low, high: range.high > low ? range.high : low + (Math.abs(low) || 1), log: false};
}

function errorScale(range, log) {
  const high = range.high > 0 ? range.high : 1;
  return log ? {map: "error", low: Math.max(range.positive, high / 1000) * (range.positive < high ? 1 : 0.1), high, log}
             : {map: "error", low: 0, high, log};
}

// 0 … 1 along the colours.
function placeOf(scale, v) {
  const f = scale.log ? (x) => Math.log(Math.max(x, 1e-38)) : (x) => x;
  return Math.min(Math.max((f(v) - f(scale.low)) / (f(scale.high) - f(scale.low)), 0), 1);
}

// Edges of a face or cell.
function edgesOf(cx, degree, i) {
  if (degree === 2) return cx.edges2.subarray(3 * i, 3 * i + 3);
  const v = cx.vert[3].subarray(4 * i, 4 * i + 4), out = [];
  for (let a = 0; a < 4; a++) for (let b = a + 1; b < 4; b++) out.push(cx.edgeOf(v[a], v[b]));
  return out;
}

// Values at the corners of the triangles: vertex values interpolated, face and cell values flat, edge values by their mean.
function triangleValues(cx, shape, degree, s) {
  const t = shape.triangles, out = new Float32Array(3 * t.count);
  for (let i = 0; i < t.count; i++) {
    let v = MISSING;
    if (degree === 1) {
      const edges = edgesOf(cx, t.degree[i], t.owner[i]);
      v = 0;
      for (const e of edges) v += s[e] / edges.length;
    } else if (degree === t.degree[i]) v = s[t.owner[i]];
    else if (degree === 3) v = s[t.top[i]];
    for (let k = 3 * i; k < 3 * i + 3; k++) out[k] = degree ? v : (1 - t.t[k]) * s[t.a[k]] + t.t[k] * s[t.b[k]];
  }
  return out;
}

// One value a stroke, for an edge field.
const strokeValues = (shape, s) => Float32Array.from(shape.strokes.owner, (e) => (e < 0 ? MISSING : s[e]));

// ---- directions ----

const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const plus = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];

// Gradients of the barycentric coordinates of a triangle in space, or of a tetrahedron.
function gradients(p) {
  const e = p.slice(1).map((q) => minus(q, p[0]));
  let g;
  if (e.length === 2) {
    const a = dot(e[0], e[0]), b = dot(e[0], e[1]), c = dot(e[1], e[1]), det = a * c - b * b;
    g = [minus(scaled(e[0], c / det), scaled(e[1], b / det)), minus(scaled(e[1], a / det), scaled(e[0], b / det))];
  } else {
    const volume = dot(e[0], cross(e[1], e[2]));
    g = [cross(e[1], e[2]), cross(e[2], e[0]), cross(e[0], e[1])].map((v) => scaled(v, 1 / volume));
  }
  return [scaled(g.reduce(plus), -1), ...g];
}

// Whitney's vector of a 1-cochain at the barycentre of a top simplex: Σ u_ij (∇λ_j - ∇λ_i) / (dim + 1).
function whitney(cx, u, top) {
  const m = cx.dim + 1, v = [...cx.vert[cx.dim].subarray(m * top, m * top + m)];
  const g = gradients(v.map((i) => [...cx.x.subarray(3 * i, 3 * i + 3)]));
  let w = [0, 0, 0];
  for (let i = 0; i < m; i++)
    for (let j = 0; j < m; j++)
      if (v[i] < v[j]) w = plus(w, scaled(minus(g[j], g[i]), u[cx.edgeOf(v[i], v[j])] / m));
  return w;
}

const hasDirection = (cx, field) => cx.dim >= 2 && ((field.degree === 1 && field.channels === 1) ||
  (field.channels === cx.space && (field.degree === 0 || field.degree === cx.dim)));

// Arrows of equal length on about every `cell` of the surface: foot and tip alternately.
function arrowsOf(cx, shape, field, u, cell) {
  const t = shape.triangles, taken = new Map(), vectors = [];
  let most = 0;
  for (let i = 0; i < t.count; i++) {
    const p = [0, 1, 2].map((k) => (t.at[9 * i + k] + t.at[9 * i + 3 + k] + t.at[9 * i + 6 + k]) / 3);
    const box = p.map((v) => Math.floor(v / cell)), off = Math.hypot(...p.map((v, k) => v / cell - box[k] - 0.5));
    const key = box.join(), best = taken.get(key);
    if (!best || off < best.off) taken.set(key, {off, i, p});
  }
  for (const {i, p} of taken.values()) {
    const at = field.degree === 0 ? t.a[3 * i] : t.top[i];
    const w = field.degree === 1 ? whitney(cx, u, at)
                                 : [0, 1, 2].map((k) => (k < cx.space ? u[at * cx.space + k] : 0));
    const size = Math.hypot(...w);
    most = Math.max(most, size);
    vectors.push({p, w, size});
  }
  const out = [];
  for (const {p, w, size} of vectors) {
    if (!(size > 0.02 * most)) continue;
    const step = scaled(w, 0.42 * cell / size);
    out.push(...minus(p, step), ...plus(p, step));
  }
  return new Float32Array(out);
}
