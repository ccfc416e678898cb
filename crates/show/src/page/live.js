// The simulator behind a live page: frames come, commands go.

import { digits } from "fingertip/names";
import { Task } from "fingertip/task";
import { add, dot, scale, sub, turn } from "fingertip/vec";

/** A page's first frame may be so old when the second comes, s. */
const LATE = 0.2;
/** The page tries again after this, ms. */
const AGAIN = 1000;

export class Live {
  constructor(page, header, element) {
    Object.assign(this, { page, header, element });
    this.paused = false;
    this.fresh = false;
    this.held = null;
    this.controls = new Map();
    this.task = header.live.task ? new Task(page, this, document.getElementById("task")) : null;
    this.panel();
    this.connect();
    document.addEventListener("visibilitychange", () => this.look());
  }

  connect() {
    const { host, protocol } = window.location;
    this.socket = new WebSocket(`${protocol === "https:" ? "wss" : "ws"}://${host}/live`);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("open", () => {
      this.say(null);
      this.look();
    });
    this.socket.addEventListener("message", ({ data }) => this.take(data));
    this.socket.addEventListener("close", () => {
      this.say("The simulator is gone. Trying again…");
      setTimeout(() => this.connect(), AGAIN);
    });
  }

  say(text) {
    const message = document.getElementById("message");
    message.hidden = !text;
    message.textContent = text ?? "";
  }

  /** Frames are numbers, everything else is JSON. */
  take(data) {
    const { track } = this.page;
    if (typeof data === "string") return this.hear(JSON.parse(data));
    const row = new Float32Array(data);
    const time = row[this.header.layout.time];
    const last = track.time(track.length - 1);
    // Anew; or the page was long in coming, and its first frame is an old one.
    if (track.length && (time < last || (track.length === 1 && time > last + LATE))) track.clear();
    if (track.length && time === track.time(track.length - 1)) return;
    const behind = track.dropped;
    track.append(row);
    // A page that looks at an older frame goes on looking at it.
    if (!this.page.player.playing) this.page.player.frame -= Math.min(this.page.player.frame, track.dropped - behind);
    this.fresh = true;
  }

  /** The state that all pages share: paused, parameters, commands. */
  hear({ paused, values, task, driven, recording, recorded, error }) {
    if (error) this.say(error);
    if (paused !== undefined) this.paused = paused;
    if (task) this.task?.hear(task, driven);
    if (recording !== undefined) this.tape(recording, recorded);
    for (const [name, value] of Object.entries(values ?? {})) {
      const control = this.controls.get(name);
      if (control && ![control.input, control.field].includes(document.activeElement)) control.show(value);
    }
    this.page.refresh();
  }

  /** Begins or ends a recording of what happens. */
  record() {
    this.mine = true;
    this.send({ record: !this.recording });
  }

  /** What the simulator says of recordings: is one under way, and how many have ended? */
  tape(recording, recorded) {
    if (recording && !this.recording) this.since = this.page.track.time(this.page.track.length - 1);
    this.recording = recording;
    const ended = recorded > (this.recorded ?? recorded);
    this.recorded = recorded;
    if (!ended || !this.mine) return;
    this.mine = false;
    Object.assign(document.createElement("a"), { href: "recording.mcap", download: `${this.header.scene.scene}.mcap` }).click();
  }

  /** How long there has been a recording, s; null without one. */
  recordedTime() {
    const { track } = this.page;
    return this.recording ? Math.max(0, track.time(track.length - 1) - this.since) : null;
  }

  /** Has a frame come since the last call? */
  arrived() {
    const { fresh } = this;
    this.fresh = false;
    return fresh;
  }

  /** Says whether the page is seen: a world that nobody looks at rests. */
  look() {
    this.send({ look: !document.hidden });
  }

  send(command) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(command));
  }

  panel() {
    const { controls } = this.header.live;
    this.element.hidden = false;
    const group = (title, list, className) => {
      if (!list.length) return;
      const heading = document.createElement("h2");
      heading.textContent = title;
      const box = document.createElement("div");
      box.className = className;
      box.append(...list.map((control) => this.slider(control)));
      this.element.append(heading, box);
    };
    /** Are links of robots dragged by their joints? A controller has them for itself. */
    this.byJoints = !this.task;
    if (this.header.live.limbs.some(Boolean)) this.element.append(this.choice());
    group("Parameters", controls.filter((c) => !c.joint), "");
    group("Joint commands", shorter(controls.filter((c) => c.joint)), "joints");
  }

  choice() {
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: this.byJoints });
    box.addEventListener("change", () => (this.byJoints = box.checked));
    label.title = "Inverse kinematics; otherwise a spring pulls at them";
    label.append(box, "drag robots by their joints");
    return label;
  }

  /** A slider; those of positive numbers over decades go by the logarithm. */
  slider({ name, label, low, high, value, log, unit }) {
    const [to, from] = log ? [Math.log10, (x) => 10 ** x] : [(x) => x, (x) => x];
    const row = document.createElement("label");
    row.className = "slider";
    const text = document.createElement("span");
    text.textContent = text.title = label;
    const input = Object.assign(document.createElement("input"), { type: "range", min: to(low), max: to(high), step: "any" });
    input.dataset.control = name;
    const field = Object.assign(document.createElement("input"), { type: "text", inputMode: "decimal", spellcheck: false });
    field.setAttribute("aria-label", `${label}, from ${low} to ${high}`);
    field.title = `${low} to ${high} ${unit}`.trim();
    const output = document.createElement("output");
    output.textContent = unit;
    let last = value;
    const show = (x) => {
      last = x;
      input.value = to(x);
      field.value = log && x >= 1e4 ? x.toExponential(1).replace("+", "") : digits(x, 3);
    };
    const set = (x) => {
      show(x);
      this.send({ set: { [name]: x } });
    };
    input.addEventListener("input", () => set(from(Number(input.value))));
    // A number that is typed, with a comma or a minus of any kind; what is none changes nothing.
    field.addEventListener("change", () => {
      const x = Number(field.value.trim().replace(",", ".").replace("−", "-") || NaN);
      if (Number.isFinite(x)) set(Math.min(high, Math.max(low, x)));
      else show(last);
    });
    field.addEventListener("focus", () => field.select());
    field.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") show(last);
      if (key === "Enter" || key === "Escape") field.blur();
    });
    show(value);
    this.controls.set(name, { input, field, show });
    row.append(text, input, field, output);
    return row;
  }

  /** Takes hold of a body that moves. */
  grab(hit, camera) {
    if (!hit || !this.header.live.movable[hit.part.body]) return false;
    this.page.selected = hit.part.body;
    const joints = this.byJoints && this.header.live.limbs[hit.part.body];
    this.held = { joints, body: hit.part.body, from: hit.point, to: hit.point, normal: camera.axes().back, local: null };
    this.held.local = this.toBody(hit.point);
    this.page.player.playing = true;
    this.push();
    return true;
  }

  pose() {
    return this.page.track.pose(this.page.player.frame, this.held.body);
  }

  /** A point of the world in the held body's frame. */
  toBody(point) {
    const { p, q: [w, x, y, z] } = this.pose();
    return turn([w, -x, -y, -z], sub(point, p));
  }

  /** The spring's end goes where the ray meets the plane that faces the eye. */
  pull({ from, along }) {
    const { held } = this;
    if (!held) return;
    const slope = dot(along, held.normal);
    if (Math.abs(slope) < 1e-6) return;
    held.to = add(from, scale(along, dot(sub(held.from, from), held.normal) / slope));
    this.push();
  }

  push() {
    const { body, local, to, joints } = this.held;
    this.send({ pull: { body, at: local, to, joints } });
  }

  release() {
    this.held = null;
    this.send({ pull: null });
  }

  /** The spring's two ends, to be drawn. */
  spring() {
    if (!this.held) return null;
    const { p, q } = this.pose();
    return { from: add(p, turn(q, this.held.local)), to: this.held.to };
  }
}

/** Labels without what most of them begin with, up to a mark: "thumb1" of "finger_joint_1_thumb1". */
function shorter(controls) {
  const labels = controls.map((c) => c.label);
  const beginnings = labels.flatMap((label) => [...label.matchAll(/[_/]/g)].map(({ index }) => label.slice(0, index + 1)));
  const common = beginnings
    .filter((begin) => labels.filter((label) => label.startsWith(begin)).length > 0.6 * labels.length)
    .reduce((longest, begin) => (begin.length > longest.length ? begin : longest), "");
  return controls.map((c) => ({ ...c, label: c.label.startsWith(common) ? c.label.slice(common.length) : c.label }));
}
