// paint.js: WebGL: surfaces, strokes, arrows and discs in colours by value or in plain ones. A colour that carries a value is
// not shaded; plain surfaces are.

const common = `#version 300 es
precision highp float;
uniform mat4 see;
uniform vec2 screen;   // of the panel, pixels
uniform sampler2D map;
uniform vec3 scale;    // low, high, logarithmic?
uniform vec4 plain;    // colour and opacity when by_value is 0
uniform float by_value, pale, nearer, size;
vec4 colour_of(float v) {
  if (by_value < 0.5) return plain;
  if (v < -1e38) return vec4(0.769, 0.784, 0.8, 1);
  float low = scale.x, high = scale.y;
  if (scale.z > 0.5) v = log(max(v, 1e-38)), low = log(low), high = log(high);
  float t = clamp((v - low) / (high - low), 0.0, 1.0);
  return vec4(mix(texture(map, vec2((t * 255.0 + 0.5) / 256.0, 0.5)).rgb, vec3(1), pale), 1);
}
`;
const programs = {
  surface: [`in vec3 at; in float value; out float v; out vec3 eye; uniform mat3 turn;
    void main() { gl_Position = see * vec4(at, 1); v = value; eye = turn * at; }`,
  `in float v; in vec3 eye; out vec4 colour; uniform float lit;
    void main() {
      colour = colour_of(v);
      if (lit > 0.5) {
        vec3 n = normalize(cross(dFdx(eye), dFdy(eye)));
        n *= sign(n.z);
        colour.rgb *= 0.66 + 0.38 * max(dot(n, vec3(-0.35, 0.45, 0.82)), 0.0);
      }
    }`],
  stroke: [`in vec3 a, b; in float value; out float v;
    void main() {
      vec4 p = see * vec4(a, 1), q = see * vec4(b, 1);
      vec2 d = (q.xy / q.w - p.xy / p.w) * screen;
      d = length(d) > 0.0 ? normalize(d) : vec2(1, 0);
      float along = float(gl_VertexID & 1), side = float(gl_VertexID >> 1) - 0.5;
      gl_Position = along > 0.5 ? q : p;
      gl_Position.xy += (vec2(-d.y, d.x) * side + d * (along - 0.5) * 0.6) * size * 2.0 / screen * gl_Position.w;
      gl_Position.z -= nearer * gl_Position.w;
      v = value;
    }`, `in float v; out vec4 colour; void main() { colour = colour_of(v); }`],
  arrow: [`in vec3 a, b; uniform float grown;
    const vec2 form[9] = vec2[9](vec2(0, -.04), vec2(.6, -.04), vec2(0, .04), vec2(0, .04), vec2(.6, -.04), vec2(.6, .04),
                                 vec2(.56, -.2), vec2(1, 0), vec2(.56, .2));
    const vec2 out_[9] = vec2[9](vec2(-1, -1), vec2(0, -1), vec2(-1, 1), vec2(-1, 1), vec2(0, -1), vec2(0, 1),
                                 vec2(-1, -1.6), vec2(2.2, 0), vec2(-1, 1.6));
    void main() {
      vec4 p = see * vec4(a, 1), q = see * vec4(b, 1);
      vec2 d = (q.xy / q.w - p.xy / p.w) * screen * 0.5, n = vec2(-d.y, d.x), f = form[gl_VertexID];
      vec2 unit = length(d) > 0.0 ? normalize(d) : vec2(1, 0);
      gl_Position = mix(p, q, f.x);
      vec2 more = (unit * out_[gl_VertexID].x + vec2(-unit.y, unit.x) * out_[gl_VertexID].y) * grown;
      gl_Position.xy += (n * f.y + more) * 2.0 / screen * gl_Position.w;
      gl_Position.z -= nearer * gl_Position.w;
    }`, `out vec4 colour; void main() { colour = plain; }`],
  head: [`in vec3 a, b; in float value;
    void main() {
      vec4 p = see * vec4(value < 0.0 ? b : a, 1), q = see * vec4(value < 0.0 ? a : b, 1);
      vec2 d = (q.xy / q.w - p.xy / p.w) * screen * 0.5;
      float far = length(d), s = far < 12.0 || value == 0.0 ? 0.0 : min(0.2 * far, size);
      vec2 unit = far > 0.0 ? d / far : vec2(1, 0), n = vec2(-unit.y, unit.x);
      vec2 f = gl_VertexID == 0 ? unit * s * 1.2 : -unit * s * 0.8 + n * s * (gl_VertexID == 1 ? 0.9 : -0.9);
      gl_Position = mix(p, q, 0.5);
      gl_Position.xy += f * 2.0 / screen * gl_Position.w;
      gl_Position.z -= nearer * gl_Position.w;
    }`, `out vec4 colour; void main() { colour = plain; }`],
  disc: [`in vec3 at; in float value; out float v;
    void main() { gl_Position = see * vec4(at, 1); gl_Position.z -= nearer * gl_Position.w; gl_PointSize = size; v = value; }`,
  `in float v; out vec4 colour;
    void main() {
      float r = length(gl_PointCoord - 0.5) * 2.0;
      if (r > 1.0) discard;
      colour = r > 1.0 - 3.0 / size ? vec4(0.11, 0.153, 0.2, 1) : colour_of(v);
    }`],
};

class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = this.gl = canvas.getContext("webgl2", {antialias: true, preserveDrawingBuffer: true});
    if (!gl) throw new Error("this page needs WebGL 2, which the browser does not offer");
    this.program = {};
    for (const name in programs) this.program[name] = this.compile(name, ...programs[name]);
    this.map = {};
    for (const name in index.colours) this.map[name] = this.texture(index.colours[name]);
    this.buffers = {};
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.SCISSOR_TEST);
  }
  compile(name, vertex, fragment) {
    const gl = this.gl, p = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const s = gl.createShader(type);
      gl.shaderSource(s, common + text);
      gl.compileShader(s);
      if (!gl.getShaderParameter(s, gl.COMPILE_STATUS)) throw new Error(`${name}: ${gl.getShaderInfoLog(s)}`);
      gl.attachShader(p, s);
    }
    gl.linkProgram(p);
    if (!gl.getProgramParameter(p, gl.LINK_STATUS)) throw new Error(`${name}: ${gl.getProgramInfoLog(p)}`);
    const found = {id: p, uniform: {}, attribute: {}};
    for (const [kind, list, get, where] of [["uniform", gl.ACTIVE_UNIFORMS, "getActiveUniform", "getUniformLocation"],
                                            ["attribute", gl.ACTIVE_ATTRIBUTES, "getActiveAttrib", "getAttribLocation"]])
      for (let i = 0; i < gl.getProgramParameter(p, list); i++) {
        const entry = gl[get](p, i).name;
        found[kind][entry] = gl[where](p, entry);
      }
    return found;
  }
  texture(colours) {
    const gl = this.gl, t = gl.createTexture(), steps = colours.length / 3, texels = new Uint8Array(4 * steps).fill(255);
    for (let i = 0; i < steps; i++) texels.set(colours.slice(3 * i, 3 * i + 3), 4 * i);
    gl.bindTexture(gl.TEXTURE_2D, t);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, steps, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    for (const f of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, f, gl.LINEAR);
    return t;
  }
  // Keeps an array under a name on the card.
  keep(name, data) {
    const gl = this.gl, b = this.buffers[name] || (this.buffers[name] = {id: gl.createBuffer()});
    b.length = data ? data.length : 0;
    gl.bindBuffer(gl.ARRAY_BUFFER, b.id);
    if (data) gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
  }
  length(name) {
    return this.buffers[name] ? this.buffers[name].length : 0;
  }
  // inputs: attribute → [buffer, numbers, stride, offset]; each: once per instance.
  use(name, uniforms, inputs, each) {
    const gl = this.gl, p = this.program[name];
    gl.useProgram(p.id);
    for (let i = 0; i < 4; i++) gl.disableVertexAttribArray(i);
    for (const [key, value] of Object.entries({...this.shared, ...uniforms})) {
      const at = p.uniform[key];
      if (at === undefined) continue;
      if (key === "see") gl.uniformMatrix4fv(at, false, value);
      else if (key === "turn") gl.uniformMatrix3fv(at, false, value);
      else if (typeof value === "number") gl.uniform1f(at, value);
      else gl[`uniform${value.length}fv`](at, value);
    }
    for (const [key, [buffer, n, stride, offset]] of Object.entries(inputs)) {
      const at = p.attribute[key];
      if (at === undefined) continue;
      if (!this.length(buffer)) {
        gl.vertexAttrib1f(at, 0);
        continue;
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[buffer].id);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, n, gl.FLOAT, false, 4 * stride, 4 * offset);
      gl.vertexAttribDivisor(at, each ? 1 : 0);
    }
  }
  // Begins a panel: its box in pixels from the lower left, the camera's matrix and axes, the scale of its colours.
  panel(box, matrix, axes, scale) {
    const gl = this.gl;
    gl.viewport(...box);
    gl.scissor(...box);
    gl.bindTexture(gl.TEXTURE_2D, this.map[scale ? scale.map : "sequential"]);
    this.shared = {see: matrix, turn: [0, 1, 2].flatMap((k) => axes.map((a) => a[k])), screen: [box[2], box[3]],
                   scale: scale ? [scale.low, scale.high, scale.log ? 1 : 0] : [0, 1, 0], plain: [0, 0, 0, 1],
                   by_value: 0, pale: 0, nearer: 0, size: 1};
  }
  clear(colour) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.scissor(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...colour);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  }
  surface(values, uniforms) {
    const gl = this.gl, n = this.length("triangles") / 3;
    this.use("surface", uniforms, {at: ["triangles", 3, 3, 0], value: [values, 1, 1, 0]}, false);
    if (n) gl.drawArrays(gl.TRIANGLES, 0, n);
  }
  strokes(values, uniforms) {
    const gl = this.gl, n = this.length("strokes") / 6;
    this.use("stroke", uniforms, {a: ["strokes", 3, 6, 0], b: ["strokes", 3, 6, 3], value: [values, 1, 1, 0]}, true);
    if (n) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, n);
  }
  arrows(name, uniforms) {
    const gl = this.gl, n = this.length(name) / 6;
    this.use("arrow", uniforms, {a: [name, 3, 6, 0], b: [name, 3, 6, 3]}, true);
    gl.depthMask(false); // surfaces hide arrows, arrows hide nothing
    if (n) gl.drawArraysInstanced(gl.TRIANGLES, 0, 9, n);
    gl.depthMask(true);
  }
  heads(values, uniforms) {
    const gl = this.gl, n = this.length("strokes") / 6;
    this.use("head", uniforms, {a: ["strokes", 3, 6, 0], b: ["strokes", 3, 6, 3], value: [values, 1, 1, 0]}, true);
    if (n && this.length(values)) gl.drawArraysInstanced(gl.TRIANGLES, 0, 3, n);
  }
  discs(values, uniforms) {
    const gl = this.gl, n = this.length("vertices") / 3;
    this.use("disc", uniforms, {at: ["vertices", 3, 3, 0], value: [values, 1, 1, 0]}, false);
    if (n) gl.drawArrays(gl.POINTS, 0, n);
  }
}
