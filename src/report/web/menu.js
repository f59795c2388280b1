// menu.js: menus and buttons; every change of the state goes through set().

function option(value, text, parent) {
  const o = document.createElement("option");
  o.value = value, o.textContent = text;
  parent.append(o);
}

function fillFields() {
  const menu = element("field"), groups = [...new Set(fields.map((f) => f.group))];
  for (const g of groups) {
    const parent = g ? document.createElement("optgroup") : menu;
    if (g) parent.label = g, menu.append(parent);
    fields.forEach((f, i) => {
      if (f.group === g) option(i, f.degree < 0 ? f.name : `${f.name} (${simplexName[f.degree]})`, parent);
    });
  }
}

function fillMenus() {
  const f = field(), c = f.channels, menus = {part: element("part"), channel: element("channel")};
  menus.part.replaceChildren(), menus.channel.replaceChildren();
  const some = f.degree > 0 && hasParts(f, state.sample);
  if (some) {
    const share = partShares(f, state.sample).map((v) => ` (${(100 * v).toFixed(v < 0.1 ? 1 : 0)} %)`);
    parts.forEach((p, i) => option(p, p + (i ? share[i - 1] : ""), menus.part));
  } else state.part = "whole";
  if (c > 1) option(-1, "norm", menus.channel);
  for (let k = 0; k < c && c > 1; k++) option(k, `component ${k}`, menus.channel);
  if (state.channel >= c || c === 1) state.channel = -1;
  menus.part.value = state.part, menus.channel.value = state.channel;
  element("part-label").hidden = !some, element("channel-label").hidden = c === 1;
}

function pressed(id, on) {
  element(id).setAttribute("aria-pressed", on ? "true" : "false");
}

function about() {
  const s = index.samples[state.sample], n = cx.count.slice(0, cx.dim + 1);
  const plural = ["vertices", "edges", "faces", "cells"];
  const text = [n.map((v, k) => `${countText(v)} ${plural[k]}`).join(" · ")];
  if (cx.betti.length) text.push(`Betti numbers ${cx.betti.join(", ")}`);
  if (s.note) text.push(s.note);
  text.push(`dkho ${index.version}`);
  element("about").textContent = text.join("  |  ");
}

// Everything after a change of the state.
function refresh() {
  fillMenus();
  refreshShape();
  refreshValues();
  element("field").value = state.field, element("sample").value = state.sample;
  element("axis").value = "xyz"[state.axis], element("depth").value = state.depth;
  for (const id of ["mesh", "dots", "log", "same", "cut"]) pressed(id, state[id]);
  pressed("arrows", state.arrows !== "none");
  const f = field(), directed = f.degree >= 0 && hasDirection(cx, f);
  element("arrows").hidden = !directed;
  element("arrows").textContent = state.arrows === "along edges" ? "Arrows on edges" : "Arrows";
  element("mesh").hidden = f.degree === 1 || cx.dim < 1;
  element("log").hidden = panels.length < 3;
  element("same").hidden = f.fixed || index.samples.length < 2;
  element("cut-group").hidden = cx.dim !== 3;
  element("axis").hidden = element("depth").hidden = !state.cut;
  element("sample-label").hidden = index.samples.length < 2;
  about();
}

function set(change) {
  Object.assign(state, change);
  probe = null;
  refresh();
}

const step = (value, by, n) => (value + by + n) % n;
const nextOf = (list, value) => list[(list.indexOf(value) + 1) % list.length];
function nextArrows() {
  const kinds = field().degree === 1 ? ARROWS : ["field", "none"];
  set({arrows: nextOf(kinds, state.arrows)});
}

function connectMenus() {
  const changes = {field: (v) => ({field: Number(v)}), sample: (v) => ({sample: Number(v)}), part: (v) => ({part: v}),
                   channel: (v) => ({channel: Number(v)}), axis: (v) => ({axis: "xyz".indexOf(v)})};
  for (const id in changes) element(id).addEventListener("change", (e) => set(changes[id](e.target.value)));
  element("depth").addEventListener("input", (e) => set({depth: Number(e.target.value)}));
  for (const id of ["mesh", "dots", "log", "same", "cut"])
    element(id).addEventListener("click", () => set({[id]: !state[id]}));
  element("arrows").addEventListener("click", nextArrows);
  element("previous").addEventListener("click", () => set({sample: step(state.sample, -1, index.samples.length)}));
  element("next").addEventListener("click", () => set({sample: step(state.sample, 1, index.samples.length)}));
  element("reset").addEventListener("click", reset);
  element("help").addEventListener("click", toggleHelp);
}

function reset() {
  camera.reset();
  redraw();
}
function toggleHelp() {
  element("keys").hidden = !element("keys").hidden;
}
