// bar.js: numbers as text, ticks, colour bars.

function numberText(v) {
  if (v === MISSING || !Number.isFinite(v)) return "not finite";
  if (v === 0) return "0";
  const size = Math.abs(v), power = Math.floor(Math.log10(size));
  if (size >= 1e5 || size < 1e-3) {
    const digits = String(power).replace(/[-\d]/g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));
    return `${trimmed(v / 10 ** power)}×10${digits}`;
  }
  return trimmed(v);
}

const trimmed = (v) => String(Number(v.toPrecision(4))).replace("-", "−");
const countText = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

// About `wanted` round values inside a scale.
function ticksOf(scale, wanted) {
  const out = [];
  if (scale.log) {
    for (let p = Math.floor(Math.log10(scale.low)); p <= Math.log10(scale.high); p++)
      if (10 ** p >= scale.low * 0.999) out.push(10 ** p);
    if (out.length >= 2) return out;
    return [scale.low, scale.high];
  }
  const rough = (scale.high - scale.low) / wanted, ten = 10 ** Math.floor(Math.log10(rough));
  const step = ten * [1, 2, 5, 10].find((m) => m * ten >= rough * 0.999);
  for (let k = Math.ceil(scale.low / step - 1e-9); k * step <= scale.high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

// A strip of the colours with ticks below and, where there is a value under the pointer, a mark.
function drawBar(canvas, scale, value) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = Math.round(w * ratio), canvas.height = Math.round(h * ratio);
  const g = canvas.getContext("2d"), wide = Math.min(w - 44, 480), left = (w - wide) / 2, top = 9, high = 9, colours = index.colours[scale.map];
  g.scale(ratio, ratio);
  const blend = g.createLinearGradient(left, 0, left + wide, 0), steps = colours.length / 3;
  for (let i = 0; i < steps; i += 5) blend.addColorStop(i / (steps - 1), `rgb(${colours.slice(3 * i, 3 * i + 3)})`);
  g.fillStyle = blend;
  g.beginPath();
  g.roundRect(left, top, wide, high, 3);
  g.fill();
  g.strokeStyle = "rgba(28,39,51,.25)";
  g.lineWidth = 0.75;
  g.stroke();
  g.font = "11px system-ui, sans-serif", g.textAlign = "center", g.textBaseline = "top", g.fillStyle = "#5b6773";
  let free = -Infinity;
  for (const v of ticksOf(scale, Math.max(2, Math.min(6, wide / 70)))) {
    const x = left + wide * placeOf(scale, v), text = numberText(v), room = g.measureText(text).width / 2 + 4;
    g.fillRect(x - 0.5, top + high, 1, 4);
    if (x - room < free) continue;
    g.fillText(text, Math.min(Math.max(x, room), w - room), top + high + 6);
    free = x + room;
  }
  if (value === undefined || value === MISSING) return;
  const x = left + wide * placeOf(scale, value);
  g.fillStyle = "#1c2733";
  g.beginPath();
  g.moveTo(x, top + 1), g.lineTo(x - 5, 1), g.lineTo(x + 5, 1);
  g.fill();
  g.fillRect(x - 0.75, top, 1.5, high);
}
