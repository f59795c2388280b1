// probe.js: the value under the pointer, in all panels at once.

const panelAt = (x, y) => panels.find((p) => x >= p.x && x < p.x + p.w && y >= p.y && y < p.y + p.h);
const inPanel = (p, x, y) => [2 * (x - p.inner.x) / p.inner.w - 1, 1 - 2 * (y - p.inner.y) / p.inner.h];

// Distance of a point from the line through two others.
function lineDistance(p, a, b) {
  const d = minus(b, a), t = Math.min(Math.max(dot(minus(p, a), d) / dot(d, d), 0), 1);
  return Math.hypot(...minus(p, plus(a, scaled(d, t))));
}
const pointOf = (v) => [...cx.x.subarray(3 * v, 3 * v + 3)];

// Which simplex of the field's degree is meant by a place on a triangle; value(list) reads it.
function meant(hit) {
  const t = shape.triangles, i = hit.triangle, degree = field().degree;
  const nearest = (list, distance) => list.reduce((a, b) => (distance(b) < distance(a) ? b : a));
  if (degree === 1) {
    const e = nearest([...edgesOf(cx, t.degree[i], t.owner[i])],
                      (k) => lineDistance(hit.point, pointOf(cx.vert[1][2 * k]), pointOf(cx.vert[1][2 * k + 1])));
    return {degree, simplex: e, value: (s) => s[e]};
  }
  if (degree === 2 || degree === 3) {
    const owner = degree === t.degree[i] ? t.owner[i] : t.top[i];
    return {degree, simplex: owner, value: (s) => s[owner]};
  }
  const corners = [0, 1, 2].map((k) => 3 * i + k);
  const ends = corners.flatMap((k) => [t.a[k], t.b[k]]);
  const at = (s, k) => (1 - t.t[k]) * s[t.a[k]] + t.t[k] * s[t.b[k]];
  return {degree: 0, simplex: nearest(ends, (v) => Math.hypot(...minus(hit.point, pointOf(v)))),
          value: (s) => corners.reduce((sum, k, j) => sum + hit.weights[j] * at(s, k), 0)};
}

// Vertices and edges of complexes without triangles, by their distance on the screen.
function nearestOnScreen(p, x, y) {
  const degree = Math.max(0, Math.min(field().degree, cx.dim)), n = cx.count[degree];
  let best = null, least = 14;
  for (let i = 0; i < n; i++) {
    const c = cx.centroid(degree, i), [u, v] = camera.place(c, p.inner.w, p.inner.h);
    const off = Math.hypot((u - x) * p.inner.w / 2, (v - y) * p.inner.h / 2);
    if (off < least) least = off, best = {degree, simplex: i, point: c, value: (s) => s[i]};
  }
  return best;
}

function find(clientX, clientY) {
  const stage = element("stage").getBoundingClientRect(), x = clientX - stage.left, y = clientY - stage.top;
  const p = panelAt(x, y);
  if (!p) return null;
  const [u, v] = inPanel(p, x, y);
  if (cx.dim < 2) return Object.assign(nearestOnScreen(p, u, v) || {}, {x, y});
  const hit = hitOf(shape.triangles, ...camera.ray(u, v, p.inner.w, p.inner.h));
  return hit ? {...meant(hit), point: hit.point, x, y} : null;
}

function whereText(f) {
  const {degree, simplex} = f, m = degree + 1;
  const list = degree ? [...cx.vert[degree].subarray(m * simplex, m * simplex + m)] : [];
  const of = degree === 1 ? ` (${list.join(" → ")})` : degree ? ` (${list.join(", ")})` : "";
  return `${simplexName[degree]} ${simplex}${of} at ${f.point.slice(0, cx.space).map(numberText).join(", ")}`;
}

function probeRows(f) {
  const rows = panels.filter((p) => p.scale).map((p) => [p.title, p.raw && field().degree === 1 && field().channels === 1
                                                           ? f.value(p.raw) : f.value(p.values)]);
  return rows.map(([name, v]) => `<tr><td>${name.replace(/</g, "&lt;")}</td><td>${numberText(v)}</td></tr>`).join("");
}

function showProbe() {
  const box = element("probe"), f = probe && probe.simplex !== undefined ? probe : null;
  box.hidden = !f;
  for (const p of panels) {
    p.bar.hidden = !p.scale;
    if (p.scale) drawBar(p.bar, p.scale, f ? f.value(p.values) : undefined);
    p.cross.hidden = !f || panels.length < 2;
    if (p.cross.hidden) continue;
    const [u, v] = camera.place(f.point, p.inner.w, p.inner.h);
    p.cross.style.left = `${p.inner.x - p.x + (u + 1) / 2 * p.inner.w}px`;
    p.cross.style.top = `${p.inner.y - p.y + (1 - v) / 2 * p.inner.h}px`;
  }
  if (!f) return;
  box.innerHTML = `<div class="where">${whereText(f)}</div><table>${probeRows(f)}</table>`;
  const stage = element("stage");
  box.style.left = `${Math.max(4, Math.min(f.x + 18, stage.clientWidth - box.offsetWidth - 6))}px`;
  box.style.top = `${Math.max(4, Math.min(f.y + 18, stage.clientHeight - box.offsetHeight - 6))}px`;
}
