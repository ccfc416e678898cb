// A chart of some series over time, with a cursor at the frame that is shown.

import { digits } from "fingertip/names";

const LEFT = 46;
const [TOP, BOTTOM] = [14, 18];
/** Room on the right, with a second axis and without. */
const [AXIS, RIGHT] = [44, 10];
/** Live pages plot this much, and by zooming no less and no more than this, s. */
const WINDOW = 8;
const [LEAST, MOST] = [0.1, 120];
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

/** A range with some room, from 0 where that is near. */
function padded(low, high) {
  if (!(low <= high)) [low, high] = [0, 1];
  if (low > 0 && low < 0.4 * high) low = 0;
  const pad = 0.06 * (high - low) || Math.abs(high) * 0.1 || 1;
  return [low === 0 ? 0 : low - pad, high + pad];
}

/** Offers a file for download. */
export function save(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  // The browser may begin later.
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** The times that all plots of a page show: of a replay from when to when, else all of it; of a live page how much. */
export class Zoom {
  constructor() {
    this.reset();
  }

  reset() {
    [this.from, this.to, this.length] = [null, null, WINDOW];
  }

  /** Shows so many times as much, with the time `at` kept where it is; `now` is what is shown. */
  by(factor, at, [from, to], track, live) {
    if (live) {
      this.length = Math.min(MOST, Math.max(LEAST, factor * this.length));
      return;
    }
    const [first, last] = [track.time(0), track.time(track.length - 1)];
    const share = Math.min(factor, (last - first) / (to - from));
    const length = Math.max(Math.min(LEAST, last - first), share * (to - from));
    const begin = Math.min(last - length, Math.max(first, at - ((at - from) / (to - from)) * length));
    [this.from, this.to] = length < 0.999 * (last - first) ? [begin, begin + length] : [null, null];
  }
}

export class Plot {
  /** `seek(frame)` is called when somebody points into the chart; `soft` where the processor draws. */
  constructor(parent, { title, series, nearest = false }, track, seek, soft, zoom) {
    Object.assign(this, { title, series, track, nearest, soft, zoom });
    this.element = document.createElement("section");
    this.element.className = "plot";
    this.element.innerHTML = `<header><h2></h2><ul></ul><span><button class="csv" title="Save these lines as a table (CSV)">CSV</button><button class="png" title="Save this plot as a picture (PNG)">PNG</button><button class="add" title="Add or remove lines">+</button></span></header><div><canvas></canvas><canvas></canvas></div>`;
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
    this.front.addEventListener("pointermove", (event) => (event.buttons ? at(event) : this.point(event.offsetX)));
    this.front.title = "Wheel: zoom in time; double click: all of it";
    this.front.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const at = this.track.time(this.frameAt(event.offsetX));
        this.zoom.by(Math.exp(0.0014 * (event.deltaMode === 1 ? 16 : 1) * event.deltaY), at, this.times, this.track, this.isLive);
        this.rezoom();
      },
      { passive: false },
    );
    this.front.addEventListener("dblclick", () => (this.zoom.reset(), this.rezoom()));
    this.front.addEventListener("pointerleave", () => this.point(null));
    this.element.querySelector(".csv").addEventListener("click", () => save(`${this.title}.csv`, new Blob([this.table()], { type: "text/csv" })));
    this.element.querySelector(".png").addEventListener("click", () => this.picture().toBlob((blob) => save(`${this.title}.png`, blob)));
    /** The frame that somebody points at, without moving there. */
    this.hover = null;
    this.stale = true;
    this.told = 0;
  }

  set(series) {
    this.series = series;
    this.stale = true;
  }

  /** The times that are plotted: of a live page some seconds up to the newest frame, or around the one that is shown. */
  span(player) {
    const [first, last] = [this.track.time(0), this.track.time(this.track.length - 1)];
    this.isLive = player.live;
    if (!player.live) return this.zoom.from === null ? [first, Math.max(last, first + 1e-6)] : [this.zoom.from, this.zoom.to];
    const { length } = this.zoom;
    const shown = this.track.time(player.frame);
    const end = shown < last - length ? shown + length / 2 : last;
    return [Math.max(first, end - length), Math.max(end, first + length)];
  }

  /** Somebody points at a pixel, or nowhere. */
  point(x) {
    this.hover = x === null || !this.times ? null : this.frameAt(x);
    this.pointed = true;
    this.redraw?.();
  }

  /** Room on the right. */
  get right() {
    return this.units().length > 1 ? AXIS : RIGHT;
  }

  /** The units of the lines, each once. */
  units() {
    return [...new Set(this.series.map((s) => s.unit))];
  }

  /** The lines as a table, a row for each frame that is kept. */
  table() {
    const quote = (text) => `"${text.replaceAll('"', '""')}"`;
    const head = ["time s", ...this.series.map((s) => quote(`${s.name}${s.unit ? ` ${s.unit}` : ""}`))];
    const cell = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(9))) : "");
    const rows = Array.from({ length: this.track.length }, (_, f) => [this.track.time(f), ...this.series.map((s) => s.at(f))].map(cell).join(","));
    return `${[head.join(","), ...rows].join("\n")}\n`;
  }

  /** The plot with its title and its lines' names, on paper. */
  picture() {
    const { canvas, front, style } = this;
    const dense = canvas.width / Math.max(1, canvas.clientWidth);
    const line = 17 * dense;
    const sheet = document.createElement("canvas");
    [sheet.width, sheet.height] = [canvas.width, canvas.height + line * (this.series.length + 2)];
    const g = sheet.getContext("2d");
    g.fillStyle = this.theme === "dark" ? "#171c24" : "#ffffff";
    g.fillRect(0, 0, sheet.width, sheet.height);
    g.textBaseline = "top";
    const write = (text, i, colour, weight = 400) => {
      g.font = `${weight} ${12 * dense}px ${style.fontFamily}`;
      g.fillStyle = colour;
      g.fillText(text, 10 * dense, 6 * dense + i * line);
    };
    write(this.element.querySelector("h2").textContent, 0, style.getPropertyValue("--ink"), 650);
    this.series.forEach((s, i) => write(`${s.name}${s.unit ? `, ${s.unit}` : ""}`, i + 1, this.lineColours[i % this.lineColours.length]));
    for (const layer of [canvas, front]) g.drawImage(layer, 0, line * (this.series.length + 1));
    return sheet;
  }

  frameAt(x) {
    const [from, to] = this.times;
    const part = (x - LEFT) / Math.max(1, this.canvas.clientWidth - LEFT - this.right);
    return this.track.at(from + Math.max(0, Math.min(1, part)) * (to - from));
  }

  /** Lines of the visible frames, thinned to the pixels with their extremes kept. */
  shape(width) {
    const { track, series } = this;
    const [first, last] = [track.at(this.times[0]), track.at(this.times[1])];
    const bin = Math.max(1, Math.floor((last - first) / Math.max(1, 2 * width)));
    const ranges = new Map(this.units().map((unit) => [unit, [Infinity, -Infinity]]));
    const lines = series.map((s) => {
      const points = [];
      const range = ranges.get(s.unit);
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
        [range[0], range[1]] = [Math.min(range[0], least), Math.max(range[1], most)];
      }
      return points;
    });
    return { lines, ranges: new Map([...ranges].map(([unit, [low, high]]) => [unit, padded(low, high)])) };
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
    const away = player.live && !player.playing && this.windowed !== player.frame;
    if (this.stale || this.theme !== colours.name || (player.live && due) || away) {
      this.windowed = player.frame;
      this.lineColours = colours.lines;
      this.times = this.span(player);
      this.curves = this.shape(w);
      if (this.stale || this.theme !== colours.name) this.listNames(colours);
      this.stale = false;
      this.theme = colours.name;
      this.style = getComputedStyle(this.element);
      this.drawCurves(w, h, dense, colours);
    }
    this.drawCursor(w, h, dense, player, colours);
    if (due || !player.playing || this.pointed) this.tell(this.hover ?? player.frame);
    this.pointed = false;
    if (due) this.told = now;
  }

  /** From times, and from values of a unit, to pixels. */
  scales(w, h) {
    const [from, to] = this.times;
    const value = (unit) => {
      const [low, high] = this.curves.ranges.get(unit) ?? [0, 1];
      return (v) => h - BOTTOM - ((v - low) / (high - low)) * (h - TOP - BOTTOM);
    };
    return [(t) => LEFT + ((t - from) / (to - from)) * (w - LEFT - this.right), value];
  }

  drawCurves(w, h, dense, colours) {
    const { back: g, style } = this;
    const { lines, ranges } = this.curves;
    const [x, value] = this.scales(w, h);
    const [from, to] = this.times;
    const right = w - this.right;
    g.setTransform(dense, 0, 0, dense, 0, 0);
    g.clearRect(0, 0, w, h);
    g.font = `11px ${style.fontFamily}`;
    g.fillStyle = style.getPropertyValue("--ink-2");
    g.strokeStyle = style.getPropertyValue("--line");
    g.lineWidth = 1;
    // The first unit has the axis on the left and the grid, the second that on the right.
    this.units().slice(0, 2).forEach((unit, side) => {
      const y = value(unit);
      const at = side ? right + 6 : LEFT - 7;
      g.textAlign = side ? "left" : "right";
      g.textBaseline = "middle";
      for (const v of ticks(...ranges.get(unit), Math.max(2, (h - TOP - BOTTOM) / 32))) {
        if (!side) {
          g.beginPath();
          g.moveTo(LEFT, Math.round(y(v)) + 0.5);
          g.lineTo(right, Math.round(y(v)) + 0.5);
          g.stroke();
        }
        if (!unit || y(v) > TOP + 4) g.fillText(short(v), at, y(v));
      }
      g.textBaseline = "top";
      g.fillText(unit, at, 0);
    });
    g.textAlign = "center";
    g.textBaseline = "bottom";
    for (const t of ticks(from, to, w / 90)) g.fillText(`${short(t)} s`, Math.min(x(t), w - 16), h - 1);
    // The first point of a window is a little before it.
    g.save();
    g.beginPath();
    g.rect(LEFT, 0, right - LEFT, h);
    g.clip();
    g.lineWidth = 1.6;
    g.lineJoin = "round";
    lines.forEach((points, i) => {
      const y = value(this.series[i].unit);
      g.strokeStyle = colours.lines[i % colours.lines.length];
      g.beginPath();
      points.forEach(([t, v], k) => (k ? g.lineTo(x(t), y(v)) : g.moveTo(x(t), y(v))));
      g.stroke();
    });
    g.restore();
  }

  drawCursor(w, h, dense, { frame }, colours) {
    const { over: g } = this;
    const [x, value] = this.scales(w, h);
    g.setTransform(dense, 0, 0, dense, 0, 0);
    g.clearRect(0, 0, w, h);
    const line = (f, ink) => {
      const time = x(this.track.time(f));
      if (time < LEFT - 1 || time > w - this.right + 2) return null;
      const at = Math.min(time, w - this.right);
      g.strokeStyle = this.style.getPropertyValue(ink);
      g.lineWidth = 1;
      g.beginPath();
      g.moveTo(at, TOP - 4);
      g.lineTo(at, h - BOTTOM);
      g.stroke();
      this.series.forEach((s, i) => {
        const y = s.at(f);
        if (!Number.isFinite(y)) return;
        g.fillStyle = colours.lines[i % colours.lines.length];
        g.beginPath();
        g.arc(at, value(s.unit)(y), 3, 0, 2 * Math.PI);
        g.fill();
      });
      return at;
    };
    this.cursor = line(frame, "--ink") ?? this.cursor;
    if (this.hover !== null) {
      const at = line(this.hover, "--ink-2") ?? LEFT;
      g.fillStyle = this.style.getPropertyValue("--ink-2");
      g.font = `11px ${this.style.fontFamily}`;
      g.textBaseline = "top";
      g.textAlign = at > w / 2 ? "right" : "left";
      g.fillText(`${this.track.time(this.hover).toFixed(3)} s`, at + (at > w / 2 ? -5 : 5), 0);
    }
  }

  /** The values at the cursor, or where somebody points, behind their names. */
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
        item.title = s.name;
        item.style.setProperty("--colour", colours.lines[i % colours.lines.length]);
        item.append(s.name.slice(0, s.name.length - common.length), document.createElement("b"));
        return item;
      }),
    );
  }
}
