"use strict";
// data.js: what the page holds: an index, and arrays of 32-bit numbers that are decoded when they are first asked for.
const index = JSON.parse(document.getElementById("index").textContent);
const decoded = new Map();

function bytesOf(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}

function arrayOf(id, Type) {
  if (!decoded.has(id)) decoded.set(id, new Type(bytesOf(id)));
  return decoded.get(id);
}

const floats = (id) => arrayOf(id, Float32Array);
const integers = (id) => arrayOf(id, Int32Array);
const element = (id) => document.getElementById(id);
