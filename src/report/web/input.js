// input.js: what mouse, fingers and keys do; the beginning.

// ---- mouse and fingers ----

function connectPointer() {
  const canvas = element("canvas"), held = new Map();
  const drag = (dx, dy, moving, p) => {
    if (moving || camera.flat) camera.shift(2 * dx / p.inner.w, -2 * dy / p.inner.h);
    else camera.turn(dx * 0.008, dy * 0.008);
  };
  const pinch = (before, after) => {
    const middle = (q) => [(q[0].x + q[1].x) / 2, (q[0].y + q[1].y) / 2];
    const apart = (q) => Math.hypot(q[0].x - q[1].x, q[0].y - q[1].y) || 1;
    const [x0, y0] = middle(before), [x, y] = middle(after), p = panelAt(x, y) || panels[0];
    camera.shift(2 * (x - x0) / p.inner.w, -2 * (y - y0) / p.inner.h);
    camera.magnify(apart(after) / apart(before), ...inPanel(p, x, y));
  };
  const place = (e) => {
    const r = element("stage").getBoundingClientRect();
    return {x: e.clientX - r.left, y: e.clientY - r.top};
  };
  canvas.addEventListener("pointerdown", (e) => {
    held.set(e.pointerId, place(e));
    canvas.setPointerCapture(e.pointerId);
    canvas.classList.add("held");
    element("stage").focus({preventScroll: true});
    probe = find(e.clientX, e.clientY);
    redraw();
  });
  canvas.addEventListener("pointermove", (e) => {
    const now = place(e), last = held.get(e.pointerId);
    if (!last) {
      probe = find(e.clientX, e.clientY);
    } else if (held.size === 1) {
      if (now.x === last.x && now.y === last.y) return;
      drag(now.x - last.x, now.y - last.y, e.shiftKey || e.buttons & 6, panelAt(last.x, last.y) || panels[0]);
      probe = null;
    } else {
      const before = [...held.values()].slice(0, 2);
      held.set(e.pointerId, now);
      pinch(before, [...held.values()].slice(0, 2));
      probe = null;
    }
    if (last) held.set(e.pointerId, now);
    redraw();
  });
  for (const end of ["pointerup", "pointercancel"])
    canvas.addEventListener(end, (e) => {
      held.delete(e.pointerId);
      if (!held.size) canvas.classList.remove("held");
    });
  canvas.addEventListener("pointerleave", () => {
    if (held.size) return;
    probe = null;
    redraw();
  });
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    const {x, y} = place(e), p = panelAt(x, y);
    if (!p) return;
    camera.magnify(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0016)), ...inPanel(p, x, y));
    probe = find(e.clientX, e.clientY);
    redraw();
  }, {passive: false});
}

// ---- keys ----

const move = (dx, dy) => () => {
  if (camera.flat) camera.shift(-dx * 0.1, -dy * 0.1);
  else camera.turn(dx * 0.1, dy * 0.1);
  redraw();
};
const zoom = (f) => () => (camera.magnify(f, 0, 0), redraw());
const toggle = (id) => () => set({[id]: !state[id]});
const slide = (by) => () => set({cut: cx.dim === 3, depth: Math.min(Math.max(state.depth + by, 0), 1)});
const normal = (axis) => () => set({cut: cx.dim === 3, axis});
const keys = {
  ArrowLeft: move(-1, 0), ArrowRight: move(1, 0), ArrowUp: move(0, 1), ArrowDown: move(0, -1),
  "+": zoom(1.2), "=": zoom(1.2), "-": zoom(1 / 1.2), 0: reset, Home: reset,
  "[": () => set({sample: step(state.sample, -1, index.samples.length)}),
  "]": () => set({sample: step(state.sample, 1, index.samples.length)}),
  f: () => set({field: step(state.field, 1, fields.length)}), F: () => set({field: step(state.field, -1, fields.length)}),
  p: () => hasParts(field(), state.sample) && set({part: nextOf(parts, state.part)}),
  m: toggle("mesh"), v: toggle("dots"), l: toggle("log"), s: toggle("same"), c: toggle("cut"), a: nextArrows,
  x: normal(0), y: normal(1), z: normal(2), ",": slide(-0.02), ".": slide(0.02),
  "?": toggleHelp, Escape: () => (element("keys").hidden = true),
};

function connectKeys() {
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("select, input")) return;
    if (!keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });
}

// ---- begin ----

function begin() {
  element("title").textContent = index.title;
  fillFields();
  index.samples.forEach((s, i) => option(i, s.title, element("sample")));
  try {
    painter = new Painter(element("canvas"));
  } catch (error) {
    element("about").textContent = error.message;
    return;
  }
  connectMenus();
  connectPointer();
  connectKeys();
  refresh();
  new ResizeObserver(arrange).observe(element("stage"));
  document.documentElement.dataset.ready = "yes";
}
begin();
