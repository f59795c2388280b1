// camera.js: one camera for all panels, as the figures of the library have it: planar complexes from above without
// perspective, others from an elevation and azimuth with a mild one.

const EYE = 5; // distance in radii

class Camera {
  constructor(cx) {
    this.cx = cx;
    this.flat = cx.space === 2;
    this.reset();
    this.first = this.reach();
  }
  reset() {
    this.azimuth = -0.9, this.elevation = 0.6, this.zoom = 1, this.pan = [0, 0];
  }
  // How far the complex reaches across and up in the first view, in its radius.
  reach() {
    if (this.flat) return [this.cx.half[0] / this.cx.radius, this.cx.half[1] / this.cx.radius];
    const {x, centre, radius} = this.cx, [right, up, back] = this.axes(), most = [0, 0];
    for (let i = 0; i < x.length; i += 3) {
      const p = [0, 1, 2].map((k) => (x[i + k] - centre[k]) / radius), s = 1 - dot(p, back) / EYE;
      most[0] = Math.max(most[0], Math.abs(dot(p, right)) / s), most[1] = Math.max(most[1], Math.abs(dot(p, up)) / s);
    }
    return most;
  }
  // Half-sizes of the screen in the units of the complex's radius, for a panel of w × h pixels.
  extent(w, h) {
    const fit = 1.06 * Math.max(this.first[0] / w, this.first[1] / h);
    return [w * fit, h * fit];
  }
  axes() {
    if (this.flat) return [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    const [ca, sa, ce, se] = [Math.cos(this.azimuth), Math.sin(this.azimuth), Math.cos(this.elevation),
                              Math.sin(this.elevation)];
    return [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]];
  }
  // Column-major; depth -0.75 t / w lies inside -1 … 1.
  matrix(w, h) {
    const [ex, ey] = this.extent(w, h), {centre, radius} = this.cx, axes = this.axes();
    const rows = axes.map((a) => [...scaled(a, 1 / radius), -dot(a, centre) / radius]);
    const back = rows[2], deep = this.flat ? 0 : -1 / EYE;
    const bottom = back.map((v, k) => v * deep + (k === 3 ? 1 : 0));
    const screen = (row, size, pan) => row.map((v, k) => v * this.zoom / size + pan * bottom[k]);
    const m = [screen(rows[0], ex, this.pan[0]), screen(rows[1], ey, this.pan[1]), back.map((v) => -0.75 * v), bottom];
    const out = new Float32Array(16);
    for (let i = 0; i < 4; i++) for (let k = 0; k < 4; k++) out[4 * k + i] = m[i][k];
    return out;
  }
  // Two points of the ray under (x, y), -1 … 1 in the panel, the nearer first.
  ray(x, y, w, h) {
    const [ex, ey] = this.extent(w, h), {centre, radius} = this.cx, axes = this.axes();
    return [1, -1].map((t) => {
      const s = this.flat ? 1 : 1 - t / EYE;
      const q = [(x - this.pan[0]) * s * ex / this.zoom, (y - this.pan[1]) * s * ey / this.zoom, t];
      return [0, 1, 2].map((k) => centre[k] + radius * (q[0] * axes[0][k] + q[1] * axes[1][k] + q[2] * axes[2][k]));
    });
  }
  // Where a point is in the panel, -1 … 1.
  place(p, w, h) {
    const m = this.matrix(w, h), at = (i) => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
    return [at(0) / at(3), at(1) / at(3)];
  }
  turn(dx, dy) {
    this.azimuth -= dx;
    this.elevation = Math.min(Math.max(this.elevation + dy, -Math.PI / 2), Math.PI / 2);
  }
  shift(dx, dy) {
    this.pan[0] += dx, this.pan[1] += dy;
  }
  // Nearer by `factor`, the point (x, y) staying where it is.
  magnify(factor, x, y) {
    const zoom = Math.min(Math.max(this.zoom * factor, 0.2), 400), f = zoom / this.zoom;
    this.pan = [x - (x - this.pan[0]) * f, y - (y - this.pan[1]) * f];
    this.zoom = zoom;
  }
}

// The first triangle that the ray from p to q meets: {triangle, weights of its corners, point}, or null.
function hitOf(triangles, p, q) {
  const d = minus(q, p), at = triangles.at;
  let best = null;
  for (let i = 0; i < triangles.count; i++) {
    const k = 9 * i, ax = at[k], ay = at[k + 1], az = at[k + 2];
    const ux = at[k + 3] - ax, uy = at[k + 4] - ay, uz = at[k + 5] - az;
    const vx = at[k + 6] - ax, vy = at[k + 7] - ay, vz = at[k + 8] - az;
    const hx = d[1] * vz - d[2] * vy, hy = d[2] * vx - d[0] * vz, hz = d[0] * vy - d[1] * vx;
    const det = ux * hx + uy * hy + uz * hz;
    if (det === 0) continue;
    const sx = p[0] - ax, sy = p[1] - ay, sz = p[2] - az, u = (sx * hx + sy * hy + sz * hz) / det;
    if (u < 0 || u > 1) continue;
    const wx = sy * uz - sz * uy, wy = sz * ux - sx * uz, wz = sx * uy - sy * ux;
    const v = (d[0] * wx + d[1] * wy + d[2] * wz) / det, t = (vx * wx + vy * wy + vz * wz) / det;
    if (v < 0 || u + v > 1 || (best && t >= best.t)) continue;
    best = {t, triangle: i, weights: [1 - u - v, u, v]};
  }
  if (best) best.point = plus(p, scaled(d, best.t));
  return best;
}
