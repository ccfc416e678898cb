// The page: reads what it carries, and joins drawing, player, plots and, on a live page, the simulator.

import { Address } from "fingertip/address";
import { Camera } from "fingertip/camera";
import { Film } from "fingertip/film";
import { drawsInSoftware } from "fingertip/gl";
import { Inspector } from "fingertip/inspector";
import { listenKeys } from "fingertip/keys";
import { Live } from "fingertip/live";
import { Measure, pickPlane } from "fingertip/measure";
import { unpack } from "fingertip/meshes";
import { digits, shortNames } from "fingertip/names";
import { pick } from "fingertip/pick";
import { Picker } from "fingertip/picker";
import { Player } from "fingertip/player";
import { Plot, Zoom } from "fingertip/plot";
import { listen } from "fingertip/pointer";
import { allSeries, firstPlots, nearest } from "fingertip/series";
import { buildStage, placed, surround } from "fingertip/stage";
import { Theme } from "fingertip/theme";
import { Track, decode } from "fingertip/track";
import { NARROW, View } from "fingertip/view";
import { Worlds } from "fingertip/worlds";
import { norm, sub } from "fingertip/vec";

/** Frames farther apart than this are slow, nearer ones quick, ms; and after the last nothing moves any more. */
const [SLOW, QUICK, REST] = [30, 20, 350];
/** After so much time of quick frames more is drawn, ms: longer each time that it was too much. */
const [PATIENCE, MOST_PATIENCE] = [1000, 60000];
/** A message stays so long, ms. */
const MESSAGE = 8000;
/** A page that was away goes on from where it was: no more time than this goes by between two frames, s. */
const LONGEST = 0.5;

const $ = (id) => document.getElementById(id);

class Page {
  constructor() {
    const header = JSON.parse($("header").textContent);
    unpack(header.scene);
    this.header = header;
    this.track = new Track(header, decode($("frames").textContent));
    this.player = new Player(this.track, Boolean(header.live));
    this.names = shortNames(header.scene);
    this.theme = new Theme();
    const ball = surround(header.scene, this.track);
    const soft = drawsInSoftware();
    document.documentElement.classList.toggle("soft", soft);
    this.stage = buildStage(header.scene, soft);
    const { clientWidth, clientHeight } = $("drawing");
    this.camera = new Camera(ball, [Math.max(1, clientWidth), Math.max(1, clientHeight)]);
    this.worlds = new Worlds(header, ball.radius);
    this.view = new View($("drawing"), header, this.track, this.stage, ball, this.worlds);
    this.unit = this.view.marks.scale;
    // Where nobody acts, what counts is how near things are to each other.
    const robots = header.scene.bodies.some(({ role }) => role === "robot");
    this.show = { looks: true, collisions: false, contacts: false, distances: !robots, forces: true, cones: false, patches: false, plan: true, trails: true, grid: true, taxels: true, worlds: true, apart: false };
    /** What is shown unless somebody says otherwise. */
    this.shown = { ...this.show };
    this.selected = 0;
    this.follow = false;
    this.inspector = new Inspector($("inspector"), header, this.track, this.names);
    this.series = allSeries(header, this.track, this.names);
    this.picker = new Picker($("picker"), this.series);
    this.newest = $("newest");
    this.zoom = new Zoom();
    this.plots = firstPlots(this.series, this.track, Boolean(header.live), robots).map((plot) => new Plot($("plots"), plot, this.track, (f) => this.seek(f), soft, this.zoom));
    for (const plot of this.plots) {
      plot.redraw = () => this.refresh();
      plot.rezoom = () => this.rezoom();
      plot.element.querySelector(".add").addEventListener("click", () => this.picker.open(plot));
    }
    this.measure = new Measure($("measured"), this.track, this.names);
    this.film = new Film(this, $("film"));
    this.live = header.live ? new Live(this, header, $("live")) : null;
    document.querySelector('[data-show="distances"]').checked = this.show.distances;
    this.label();
    this.wire();
    if (this.live && innerWidth > 1000) this.options();
    if (innerWidth <= NARROW) this.charts();
    // What covers the scene is known by now.
    this.view.resize(this.camera);
    this.camera.preset("home");
    this.player.playing ||= !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.address = new Address(this);
    this.camera.now = { ...this.camera.goal };
    this.dirty = true;
    this.last = this.drawn = performance.now();
    /** Mean time between frames while something moves, ms; and how much is left out of them, 0 to 3. */
    this.interval = 16;
    this.level = this.view.soft ? 2 : 0;
    /** How long frames have been quick, and have to be, ms. */
    [this.quick, this.patience] = [0, PATIENCE];
    requestAnimationFrame((now) => this.tick(now));
  }

  label() {
    const { scene } = this.header;
    document.title = `${scene.scene || "fingertip"} – fingertip`;
    document.querySelector("h1").textContent = scene.scene.replaceAll("_", " ");
    const { h, kappa } = scene.params;
    document.querySelector("#title p").textContent =
      `${this.header.live ? "live" : `${this.track.length - 1} steps`} · h = ${Number((1e3 * h).toPrecision(3))} ms · κ = ${kappa.toExponential(0).replace("+", "")} J⁻¹`;
    const others = this.worlds.list.map(({ name }) => name);
    if (others.length) document.querySelector("#title p").textContent += ` · with ${others.join(", ")}`;
    for (const name of ["worlds", "apart"]) document.querySelector(`[data-show="${name}"]`).parentElement.hidden = !others.length;
    document.querySelector('[data-show="taxels"]').parentElement.hidden = !scene.taxels?.length;
    // A world that is moved elsewhere takes no orders.
    const mirror = Boolean(this.header.live?.mirror);
    for (const id of ["reset", "record"]) $(id).hidden = !this.live || mirror;
    $("play").hidden = mirror;
    for (const id of ["speed", "loop", "film"]) $(id).hidden = Boolean(this.live);
  }

  wire() {
    const act = {
      play: () => this.play(),
      step: (by) => this.step(by),
      seek: (frame) => this.seek(frame),
      faster: (by) => this.faster(by),
      loop: () => this.press("loop", (this.player.loop = !this.player.loop)),
      follow: () => this.press("follow", (this.follow = !this.follow)),
      view: (name) => this.look(name),
      toggle: (name) => this.toggle(name),
      charts: () => this.charts(),
      options: () => this.options(),
      theme: () => this.theme.toggle(),
      reset: () => this.live?.send({ reset: true }),
      episode: () => this.live?.task?.next("episode"),
      goal: () => this.live?.task?.next("goal"),
      help: () => $("keys").showModal(),
      contacts: () => this.press("contacts", (this.inspector.all = !this.inspector.all)),
      newest: () => this.seek(Infinity),
      measure: () => this.press("measure", this.measure.toggle()),
      record: () => this.live?.record(),
      film: () => this.live || this.film.toggle(),
    };
    listenKeys({ ...act, ...Object.fromEntries(Object.entries(act).map(([k, f]) => [k, (x) => (f(x), this.refresh())])) });
    const click = (id, action) => $(id).addEventListener("click", () => (action(), this.refresh()));
    click("play", act.play);
    click("back", () => act.step(-1));
    click("forth", () => act.step(1));
    for (const id of ["loop", "follow", "charts", "options", "theme", "reset", "help", "contacts", "newest", "measure", "record", "film"]) click(id, act[id]);
    $("keys").addEventListener("click", (event) => event.target === $("keys") && $("keys").close());
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => (act.view(button.dataset.view), this.refresh()));
    }
    for (const box of document.querySelectorAll("[data-show]")) {
      box.addEventListener("change", () => (this.toggle(box.dataset.show), this.refresh()));
    }
    $("scrub").addEventListener("input", () => this.seek(Number($("scrub").value)));
    $("speed").addEventListener("change", () => (this.player.speed = Number($("speed").value)));
    $("scale").addEventListener("input", () => this.rescale());
    addEventListener("resize", () => this.refresh());
    this.rescale();
    listen($("drawing"), {
      grab: (x, y) => !this.measure.on && (this.live?.grab(this.under(x, y), this.camera) ?? false),
      pull: (x, y) => this.live?.pull(this.camera.ray(x, y)),
      release: () => this.live?.release(),
      orbit: (dx, dy) => this.camera.orbit(dx, dy),
      pan: (dx, dy) => this.camera.pan(dx, dy),
      zoom: (factor, at) => this.camera.zoom(factor, at),
      click: (x, y) => this.click(x, y),
      changed: () => this.refresh(),
    });
  }

  /** A named view of everything, where it is by now. */
  look(name) {
    this.camera.ball = this.view.ball = surround(this.header.scene, this.track, this.show.worlds ? this.worlds.places(this.show.apart) : [0]);
    this.camera.preset(name);
  }

  /** What is under a pixel. */
  under(x, y) {
    const parts = this.view.visible({ frame: this.player.frame, show: this.show }).map(({ part }) => part);
    return pick(parts, (part) => placed(this.track, this.player.frame, part), this.camera.ray(x, y));
  }

  click(x, y) {
    const hit = this.under(x, y);
    if (!this.measure.on) {
      this.selected = hit?.part.body ?? 0;
      return;
    }
    const { frame } = this.player;
    const plane = pickPlane(this.stage.planes, this.track, frame, this.camera.ray(x, y));
    const on = hit && { body: hit.part.body, point: hit.point };
    this.measure.take(plane && !(hit?.distance < plane.distance) ? plane : on, frame);
  }

  refresh() {
    this.dirty = true;
    this.address?.changed();
  }

  /** The plots show other times. */
  rezoom() {
    for (const plot of this.plots) plot.stale = true;
    this.refresh();
  }

  /** A message for some seconds. */
  say(text) {
    $("message").textContent = text;
    $("message").hidden = false;
    setTimeout(() => ($("message").hidden = true), MESSAGE);
  }

  press(id, on) {
    $(id).setAttribute("aria-pressed", on);
  }

  play() {
    if (this.live) this.live.send({ pause: !this.live.paused });
    else this.player.toggle();
  }

  step(by) {
    if (this.live && by > 0 && this.player.frame === this.player.last()) this.live.send({ step: true });
    else this.player.step(by);
  }

  seek(frame) {
    this.player.seek(frame);
    this.refresh();
  }

  faster(by) {
    const options = $("speed").options;
    $("speed").selectedIndex = Math.max(0, Math.min(options.length - 1, $("speed").selectedIndex + by));
    this.player.speed = Number($("speed").value);
  }

  toggle(name) {
    this.show[name] = !this.show[name];
    document.querySelector(`[data-show="${name}"]`).checked = this.show[name];
    // There is more, or less, to be seen.
    if (name === "apart") this.look("home");
  }

  charts() {
    $("plots").hidden = !$("plots").hidden;
    this.press("charts", !$("plots").hidden);
    this.view.resize(this.camera);
    if (!$("plots").hidden && !$("panel").hidden && innerWidth <= NARROW) this.options();
  }

  options() {
    $("panel").hidden = !$("panel").hidden;
    $("options").setAttribute("aria-expanded", !$("panel").hidden);
    // A phone has room for one of them.
    if (!$("panel").hidden && !$("plots").hidden && innerWidth <= NARROW) this.charts();
  }

  rescale() {
    this.view.marks.scale = this.unit * 10 ** Number($("scale").value);
    document.querySelector("#scale + output").textContent = `${digits(1e3 * this.view.marks.scale, 3)} mm/N`;
    this.refresh();
  }

  tick(now) {
    requestAnimationFrame((next) => this.tick(next));
    const seconds = Math.min(LONGEST, (now - this.last) / 1000);
    this.last = now;
    const stepped = this.player.advance(this.film.pace(seconds));
    const came = this.live?.arrived();
    if (this.follow && this.selected && this.track.length) this.carry();
    const glides = this.camera.glide(seconds);
    const moving = stepped || came || glides || this.dirty || this.sizeChanged();
    if (moving) {
      this.dirty = false;
      this.adapt(this.moving ? now - this.drawn : 0);
      this.drawn = now;
      this.draw();
    } else if (this.view.level > 0 && now - this.drawn > REST) {
      this.view.setLevel(0);
      this.draw();
    }
    this.moving = moving;
  }

  /** Draws less where frames take long and more where they do not, given the time since the frame before. What rests is drawn in full. */
  adapt(milliseconds) {
    const since = Math.min(milliseconds, REST);
    if (since > 0) this.interval += 0.08 * (since - this.interval);
    this.quick = this.interval < QUICK ? this.quick + since : 0;
    if (this.interval > SLOW && this.level < 3) {
      this.level++;
      [this.interval, this.quick] = [16, 0];
      this.patience = Math.min(2 * this.patience, MOST_PATIENCE);
    } else if (this.quick > this.patience && this.level > (this.view.soft ? 1 : 0)) {
      this.level--;
      this.quick = 0;
    }
    this.view.setLevel(this.level);
  }

  sizeChanged() {
    const { clientWidth, clientHeight } = $("drawing");
    return clientWidth !== this.camera.size[0] || clientHeight !== this.camera.size[1];
  }

  /** Moves the camera with what is selected. */
  carry() {
    const { p } = this.track.pose(this.player.frame, this.selected);
    if (this.carried?.body === this.selected) {
      const step = sub(p, this.carried.p);
      if (norm(step) > 0) this.camera.carry(step);
    } else {
      this.camera.goal.target = p;
    }
    this.carried = { body: this.selected, p };
  }

  /** A plot of distances follows the selection; on a live page it waits for the first of them. */
  choose() {
    const plot = this.plots.find((plot) => plot.nearest);
    if (!plot || (plot.of === this.selected && plot.series.length)) return;
    plot.of = this.selected;
    plot.set(nearest(this.series, this.player.frame, this.selected));
  }

  /** The button of recordings: how long there has been one. */
  tape() {
    const seconds = this.live?.recordedTime() ?? null;
    const text = seconds === null ? "● Record" : `■ ${seconds.toFixed(1)} s`;
    if ($("record").textContent !== text) $("record").textContent = text;
    this.press("record", seconds !== null);
  }

  draw() {
    const { frame } = this.player;
    if (!this.follow) this.carried = null;
    this.view.resize(this.camera);
    this.view.draw(this.camera, this.theme, { frame, show: this.show, selected: this.selected, pull: this.live?.spring(), measured: this.measure.show(frame) });
    this.choose();
    const last = this.player.last();
    if (!$("plots").hidden) for (const plot of this.plots) plot.draw(this.player, this.theme.colours);
    this.inspector.show(this.selected, frame);
    this.film.drawn();
    this.tape();
    this.newest.hidden = !this.live || this.player.playing || frame === last;
    $("scrub").max = last;
    $("scrub").value = frame;
    $("play").classList.toggle("on", this.live ? !this.live.paused : this.player.playing);
    const clock = `${this.track.time(frame).toFixed(2)} <span>/ ${this.track.time(last).toFixed(2)} s</span>`;
    if (clock !== this.clock) $("clock").innerHTML = this.clock = clock;
  }
}

function complain(error) {
  $("message").textContent = `This page cannot be drawn: ${error.message}.`;
  $("message").hidden = false;
  console.error(error);
}

try {
  window.fingertip = new Page();
} catch (error) {
  complain(error);
}
