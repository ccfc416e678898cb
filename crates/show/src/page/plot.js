// A chart of some series over time, with a cursor at the frame that is shown.

import { digits } from "fingertip/names";

const LEFT = 46;
const [RIGHT, TOP, BOTTOM] = [10, 8, 18];
/** Live pages plot this much, s. */
const WINDOW = 8;
/** Where the processor draws, curves that move and numbers wait for this, ms. */
const PAUSE = 120;

/** Steps of an axis: 1, 2 or 5 times a power of ten. */
function ticks(low, high, most) {
  const raw = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw * 0.999);
  const list = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + 1e-9 * step; x += step) list.push(Math.abs(x) < 1e-9 * step ? 0 : x);
  return list;
}

const short = (x) => String(Number(x.toPrecision(4))).replace("-", "−");

export class Plot {
  /** `seek(frame)` is called when somebody points into the chart; `soft` where the processor draws. */
  constructor(parent, { title, series, nearest = false }, track, seek, soft) {
    Object.assign(this, { title, series, track, nearest, soft });
    this.element = document.createElement("section");
    this.element.className = "plot";
    this.element.innerHTML = `<header><h2></h2><ul></ul><button class="add" title="Add or remove lines">+</button></header><div><canvas></canvas><canvas></canvas></div>`;
    // The curves stand still while the cursor over them moves.
    [this.canvas, this.front] = this.element.querySelectorAll("canvas");
    [this.back, this.over] = [this.canvas, this.front].map((canvas) => canvas.getContext("2d", { willReadFrequently: soft }));
    this.legend = this.element.querySelector("ul");
    parent.append(this.element);
    const at = (event) => seek(this.frameAt(event.offsetX));
    this.front.addEventListener("pointerdown", (event) => {
      this.front.setPointerCapture(event.pointerId);
      at(event);
    });
    this.front.addEventListener("pointermove", (event) => event.buttons && at(event));
    this.stale = true;
    this.told = 0;
  }

  set(series) {
    this.series = series;
    this.stale = true;
  }

  span(player) {
    const [first, last] = [this.track.time(0), this.track.time(this.track.length - 1)];
    return player.live ? [Math.max(first, last - WINDOW), Math.max(last, first + WINDOW)] : [first, Math.max(last, first + 1e-6)];
  }

  frameAt(x) {
    const [from, to] = this.times;
    const part = (x - LEFT) / Math.max(1, this.canvas.clientWidth - LEFT - RIGHT);
    return this.track.at(from + Math.max(0, Math.min(1, part)) * (to - from));
  }

  /** Lines of the visible frames, thinned to the pixels with their extremes kept. */
  shape(width) {
    const { track, series } = this;
    const [first, last] = [track.at(this.times[0]), track.at(this.times[1])];
    const bin = Math.max(1, Math.floor((last - first) / Math.max(1, 2 * width)));
    let [low, high] = [Infinity, -Infinity];
    const lines = series.map((s) => {
      const points = [];
      for (let frame = first; frame <= last; frame += bin) {
        let [least, most] = [Infinity, -Infinity];
        for (let f = frame; f < Math.min(frame + bin, last + 1); f++) {
          const y = s.at(f);
          if (Number.isFinite(y)) [least, most] = [Math.min(least, y), Math.max(most, y)];
        }
        if (least > most) continue;
        const t = track.time(frame);
        points.push([t, least]);
        if (most > least) points.push([t, most]);
        [low, high] = [Math.min(low, least), Math.max(high, most)];
      }
      return points;
    });
    if (!(low <= high)) [low, high] = [0, 1];
    if (low > 0 && low < 0.4 * high) low = 0;
    const pad = 0.06 * (high - low) || Math.abs(high) * 0.1 || 1;
    return { lines, low: low === 0 ? 0 : low - pad, high: high + pad };
  }

  draw(player, colours) {
    const { canvas, front } = this;
    const [w, h] = [canvas.clientWidth, canvas.clientHeight];
    if (!w || !h) return;
    const dense = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(w * dense), Math.round(h * dense)];
    if (canvas.width !== width || canvas.height !== height) {
      for (const sheet of [canvas, front]) [sheet.width, sheet.height] = [width, height];
      this.stale = true;
    }
    const now = performance.now();
    const due = !this.soft || now - this.told > PAUSE;
    if (this.stale || this.theme !== colours.name || (player.live && due)) {
      this.times = this.span(player);
      this.curves = this.shape(w);
      if (this.stale || this.theme !== colours.name) this.listNames(colours);
      this.stale = false;
      this.theme = colours.name;
      this.style = getComputedStyle(this.element);
      this.drawCurves(w, h, dense, colours);
    }
    this.drawCursor(w, h, dense, player, colours);
    if (due || !player.playing) this.tell(player.frame);
    if (due) this.told = now;
  }

  /** From times and values to pixels. */
  scales(w, h) {
    const { low, high } = this.curves;
    const [from, to] = this.times;
    return [
      (t) => LEFT + ((t - from) / (to - from)) * (w - LEFT - RIGHT),
      (v) => h - BOTTOM - ((v - low) / (high - low)) * (h - TOP - BOTTOM),
    ];
  }

  drawCurves(w, h, dense, colours) {
    const { back: g, style } = this;
    const { lines, low, high } = this.curves;
    const [x, y] = this.scales(w, h);
    const [from, to] = this.times;
    g.setTransform(dense, 0, 0, dense, 0, 0);
    g.clearRect(0, 0, w, h);
    g.font = `11px ${style.fontFamily}`;
    g.fillStyle = style.getPropertyValue("--ink-2");
    g.strokeStyle = style.getPropertyValue("--line");
    g.lineWidth = 1;
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const v of ticks(low, high, Math.max(2, (h - TOP - BOTTOM) / 32))) {
      g.beginPath();
      g.moveTo(LEFT, Math.round(y(v)) + 0.5);
      g.lineTo(w - RIGHT, Math.round(y(v)) + 0.5);
      g.stroke();
      g.fillText(short(v), LEFT - 7, y(v));
    }
    g.textAlign = "center";
    g.textBaseline = "bottom";
    for (const t of ticks(from, to, w / 90)) g.fillText(`${short(t)} s`, Math.min(x(t), w - 16), h - 1);
    // The first point of a window is a little before it.
    g.save();
    g.beginPath();
    g.rect(LEFT, 0, w, h);
    g.clip();
    g.lineWidth = 1.6;
    g.lineJoin = "round";
    lines.forEach((points, i) => {
      g.strokeStyle = colours.lines[i % colours.lines.length];
      g.beginPath();
      points.forEach(([t, v], k) => (k ? g.lineTo(x(t), y(v)) : g.moveTo(x(t), y(v))));
      g.stroke();
    });
    g.restore();
  }

  drawCursor(w, h, dense, { frame }, colours) {
    const { over: g } = this;
    const [x, y] = this.scales(w, h);
    g.setTransform(dense, 0, 0, dense, 0, 0);
    g.clearRect(0, 0, w, h);
    const at = Math.min(x(this.track.time(frame)), w - RIGHT);
    if (at < LEFT - 1) return;
    g.strokeStyle = this.style.getPropertyValue("--ink");
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(at, TOP - 4);
    g.lineTo(at, h - BOTTOM);
    g.stroke();
    this.cursor = at;
    this.series.forEach((s, i) => {
      const value = s.at(frame);
      if (!Number.isFinite(value)) return;
      g.fillStyle = colours.lines[i % colours.lines.length];
      g.beginPath();
      g.arc(at, y(value), 3, 0, 2 * Math.PI);
      g.fill();
    });
  }

  /** The values at the cursor, behind their names. */
  tell(frame) {
    this.series.forEach((s, i) => {
      const item = this.legend.children[i]?.querySelector("b");
      const text = `${digits(s.at(frame))}${s.unit ? ` ${s.unit}` : ""}`;
      if (item && item.textContent !== text) item.textContent = text;
    });
  }

  /** What all names end with, as "on ball", stands in the title. */
  listNames(colours) {
    const end = this.series.length > 1 ? (this.series[0].name.match(/ on .*$/)?.[0] ?? "") : "";
    const common = this.series.every((s) => s.name.endsWith(end)) ? end : "";
    this.element.querySelector("h2").textContent = this.title + common;
    this.legend.replaceChildren(
      ...this.series.map((s, i) => {
        const item = document.createElement("li");
        item.style.setProperty("--colour", colours.lines[i % colours.lines.length]);
        item.append(s.name.slice(0, s.name.length - common.length), document.createElement("b"));
        return item;
      }),
    );
  }
}
