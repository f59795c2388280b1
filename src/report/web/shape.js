// shape.js: complexes, and which triangles, edges and vertices of one are shown: all of a surface; of tetrahedra the
// boundary, or what a plane leaves of them with the section it makes. Knows no fields.
// Every corner shown lies on an edge: at (1 - t) x[a] + t x[b], so a vertex field has its value there in the same way.

const simplexName = ["vertex", "edge", "face", "cell"];

class Complex {
  constructor(entry) {
    const [n0] = entry.count, d = entry.space, x = floats(entry.x);
    this.dim = entry.dim, this.space = d, this.count = entry.count, this.betti = entry.betti;
    this.x = new Float32Array(3 * n0);
    for (let i = 0; i < n0; i++) for (let k = 0; k < d; k++) this.x[3 * i + k] = x[d * i + k];
    this.vert = [null, ...entry.vert.map(integers)];
    this.bounds();
    if (this.dim >= 2) this.findEdges();
    if (this.dim === 3) this.findCofaces();
    this.meanEdge = this.edgeLength();
  }

  // Centre of the bounding box, half its extents, and the radius of the ball about it.
  bounds() {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity], x = this.x;
    for (let i = 0; i < x.length; i++) {
      low[i % 3] = Math.min(low[i % 3], x[i]);
      high[i % 3] = Math.max(high[i % 3], x[i]);
    }
    this.low = low, this.high = high;
    this.centre = low.map((v, k) => (v + high[k]) / 2);
    this.half = low.map((v, k) => (high[k] - v) / 2);
    let far = 0;
    for (let i = 0; i < x.length; i += 3)
      far = Math.max(far, Math.hypot(x[i] - this.centre[0], x[i + 1] - this.centre[1], x[i + 2] - this.centre[2]));
    this.radius = far || 1;
  }

  // edgeOf(a, b); the three edges of every face.
  findEdges() {
    const n0 = this.count[0], e = this.vert[1], place = new Map();
    for (let i = 0; i < this.count[1]; i++) place.set(e[2 * i] * n0 + e[2 * i + 1], i);
    this.edgeOf = (a, b) => place.get(a < b ? a * n0 + b : b * n0 + a);
    const v = this.vert[2], edges = this.edges2 = new Int32Array(v.length);
    for (let f = 0; f < v.length; f += 3)
      for (let k = 0; k < 3; k++) edges[f + k] = this.edgeOf(v[f + k], v[f + (k + 1) % 3]);
  }

  // The one or two cells of every face, -1 for none.
  findCofaces() {
    const n0 = this.count[0], place = new Map(), faces = this.vert[2], cells = this.vert[3];
    const key = (a, b, c) => {
      const [i, j, k] = [a, b, c].sort((p, q) => p - q);
      return (i * n0 + j) * n0 + k;
    };
    for (let f = 0; f < this.count[2]; f++) place.set(key(faces[3 * f], faces[3 * f + 1], faces[3 * f + 2]), f);
    this.cells2 = new Int32Array(2 * this.count[2]).fill(-1);
    for (let c = 0; c < this.count[3]; c++)
      for (let k = 0; k < 4; k++) {
        const rest = [0, 1, 2, 3].filter((j) => j !== k).map((j) => cells[4 * c + j]), f = place.get(key(...rest));
        this.cells2[2 * f + (this.cells2[2 * f] < 0 ? 0 : 1)] = c;
      }
  }

  edgeLength() {
    if (this.dim < 1) return this.radius;
    const e = this.vert[1], x = this.x;
    let sum = 0;
    for (let i = 0; i < e.length; i += 2)
      sum += Math.hypot(...[0, 1, 2].map((k) => x[3 * e[i] + k] - x[3 * e[i + 1] + k]));
    return sum / this.count[1];
  }

  centroid(degree, i) {
    const m = degree + 1, p = [0, 0, 0];
    for (let j = 0; j < m; j++) {
      const v = degree ? this.vert[degree][m * i + j] : i;
      for (let k = 0; k < 3; k++) p[k] += this.x[3 * v + k] / m;
    }
    return p;
  }
}

// Corners in threes (triangles) or twos (strokes), with what each belongs to.
class Pieces {
  constructor(x) {
    this.x = x, this.a = [], this.b = [], this.t = [], this.owner = [], this.degree = [], this.top = [];
  }
  add(corners, owner, degree, top) {
    for (const c of corners) this.a.push(c.a), this.b.push(c.b), this.t.push(c.t);
    this.owner.push(owner), this.degree.push(degree), this.top.push(top);
  }
  finish() {
    const at = this.at = new Float32Array(3 * this.a.length);
    for (let i = 0; i < this.a.length; i++)
      for (let k = 0; k < 3; k++)
        at[3 * i + k] = (1 - this.t[i]) * this.x[3 * this.a[i] + k] + this.t[i] * this.x[3 * this.b[i] + k];
    this.count = this.owner.length;
    return this;
  }
}

const atVertex = (v) => ({a: v, b: v, t: 0});
const crossing = (a, b, height) => ({a, b, t: height[a] / (height[a] - height[b])});

// What of the polygon of vertices is not above the plane.
function clipped(vertices, height) {
  const out = [];
  vertices.forEach((a, i) => {
    const b = vertices[(i + 1) % vertices.length];
    if (height[a] <= 0) out.push(atVertex(a));
    if (height[a] > 0 !== height[b] > 0) out.push(crossing(a, b, height));
  });
  return out;
}

// Where the plane meets a cell: three or four corners in order, or none.
function section(cell, height) {
  const up = cell.filter((v) => height[v] > 0), down = cell.filter((v) => height[v] <= 0);
  if (up.length === 2) return [[0, 0], [0, 1], [1, 1], [1, 0]].map(([i, j]) => crossing(up[i], down[j], height));
  if (up.length === 1) return down.map((v) => crossing(up[0], v, height));
  return down.length === 1 ? up.map((v) => crossing(v, down[0], height)) : [];
}

function addFan(triangles, polygon, owner, degree, top) {
  for (let i = 1; i + 1 < polygon.length; i++)
    triangles.add([polygon[0], polygon[i], polygon[i + 1]], owner, degree, top);
}

function addEdges(cx, strokes, edges) {
  for (const e of edges) strokes.add([atVertex(cx.vert[1][2 * e]), atVertex(cx.vert[1][2 * e + 1])], e, 1, -1);
}

// Whole faces with their edges and vertices.
function addFaces(cx, shape, faces) {
  const edges = new Set();
  for (const [f, top] of faces) {
    const v = cx.vert[2].subarray(3 * f, 3 * f + 3);
    shape.triangles.add([...v].map(atVertex), f, 2, top);
    for (let k = 0; k < 3; k++) edges.add(cx.edges2[3 * f + k]);
  }
  addEdges(cx, shape.strokes, edges);
}

function boundaryFaces(cx) {
  const out = [];
  for (let f = 0; f < cx.count[2]; f++) if (cx.cells2[2 * f + 1] < 0) out.push([f, cx.cells2[2 * f]]);
  return out;
}

// The faces between the cells whose centre the plane keeps and all others.
function keptFaces(cx, plane) {
  const kept = new Uint8Array(cx.count[3]), out = [];
  for (let c = 0; c < cx.count[3]; c++) kept[c] = plane(cx.centroid(3, c)) <= 0;
  for (let f = 0; f < cx.count[2]; f++) {
    const [a, b] = cx.cells2.subarray(2 * f, 2 * f + 2), ka = kept[a], kb = b < 0 ? 0 : kept[b];
    if (ka !== kb) out.push([f, ka ? a : b]);
  }
  return out;
}

// The boundary below the plane, and the section in it.
function addCut(cx, shape, plane) {
  const height = new Float32Array(cx.count[0]), edges = new Set();
  for (let v = 0; v < height.length; v++) height[v] = plane(cx.x.subarray(3 * v, 3 * v + 3));
  for (const [f, top] of boundaryFaces(cx)) {
    const v = cx.vert[2].subarray(3 * f, 3 * f + 3);
    addFan(shape.triangles, clipped([...v], height), f, 2, top);
    for (let k = 0; k < 3; k++) edges.add(cx.edges2[3 * f + k]);
  }
  for (const e of edges) {
    const ends = clipped([...cx.vert[1].subarray(2 * e, 2 * e + 2)], height);
    if (ends.length > 1) shape.strokes.add(ends.slice(0, 2), e, 1, -1);
  }
  for (let c = 0; c < cx.count[3]; c++) {
    const polygon = section([...cx.vert[3].subarray(4 * c, 4 * c + 4)], height);
    addFan(shape.triangles, polygon, c, 3, c);
    polygon.forEach((p, i) => shape.strokes.add([p, polygon[(i + 1) % polygon.length]], -1, 1, -1));
  }
}

// plane: height of a point above it, or null; whole: cells are kept or left out, never cut.
function shapeOf(cx, plane, whole) {
  const shape = {triangles: new Pieces(cx.x), strokes: new Pieces(cx.x)};
  if (cx.dim === 2) addFaces(cx, shape, Array.from({length: cx.count[2]}, (_, f) => [f, f]));
  else if (cx.dim === 3 && plane && !whole) addCut(cx, shape, plane);
  else if (cx.dim === 3) addFaces(cx, shape, plane ? keptFaces(cx, plane) : boundaryFaces(cx));
  else if (cx.dim === 1) addEdges(cx, shape.strokes, Array.from({length: cx.count[1]}, (_, e) => e));
  shape.triangles.finish();
  shape.strokes.finish();
  const seen = new Set();
  for (const p of [shape.triangles, shape.strokes])
    for (let i = 0; i < p.a.length; i++) if (p.t[i] === 0) seen.add(p.a[i]);
  shape.vertices = cx.dim ? Int32Array.from(seen) : Int32Array.from({length: cx.count[0]}, (_, v) => v);
  return shape;
}
