// Draws a frame of the track: background, grids, bodies, marks, trails.

import { buffers, drawsInSoftware, program, segments, shadowMap } from "fingertip/gl";
import { Ghosts } from "fingertip/ghosts";
import { Marks } from "fingertip/marks";
import { shaders } from "fingertip/shaders";
import { Skin } from "fingertip/skin";
import { placed } from "fingertip/stage";
import { PAINT } from "fingertip/theme";
import { lookAt, add, orthographic, pose, scale, times, unit } from "fingertip/vec";

const SUN = unit([0.45, -0.5, 0.95]);
/** A square of n × n squares from −1 to 1. */
function sheet(n) {
  const positions = [], indices = [];
  for (let j = 0; j <= n; j++) for (let i = 0; i <= n; i++) positions.push((2 * i) / n - 1, (2 * j) / n - 1, 0);
  for (let j = 0; j < n; j++) {
    for (let i = 0; i < n; i++) {
      const a = j * (n + 1) + i;
      indices.push(a, a + 1, a + n + 2, a, a + n + 2, a + n + 1);
    }
  }
  return { positions, normals: Array(positions.length).fill(0), indices };
}
/** Steps of a trail that are drawn, at most. */
const TRAIL = 400;
/** In wider windows the panel takes its part of the width for itself. */
const WIDE = 1000;
/** As in the style sheet. */
export const NARROW = 720;
const UNTURNED = [1, 0, 0, 0];
/** Size of a ghost, of a body's. */
const SHRUNK = 0.99;

export class View {
  constructor(canvas, header, track, stage, ball, worlds) {
    /** Without a graphics card edges are smoothed only where nothing moves, by more pixels. */
    this.soft = drawsInSoftware();
    const gl = canvas.getContext("webgl2", { antialias: !this.soft });
    if (!gl) throw new Error("this browser has no WebGL 2");
    Object.assign(this, { canvas, gl, header, track, stage, ball, worlds });
    /** Programs by how many samples they take of the shadows' edges. */
    this.variants = new Map();
    for (const part of stage.parts) part.buffers = buffers(gl, part.mesh);
    this.square = buffers(gl, sheet(1));
    this.sheet = buffers(gl, sheet(16));
    this.lines = segments(gl);
    this.shadows = (this.soft ? [1024, 512] : [2048]).map((size) => shadowMap(gl, size));
    this.marks = new Marks(header, track, ball.radius, (mesh) => buffers(gl, mesh));
    this.skin = new Skin(header, track, document.getElementById("skin"), (mesh) => buffers(gl, mesh));
    this.setLevel(this.soft ? 2 : 0);
    this.trailed = header.scene.objects.map((object) => object.body);
    this.ghosts = new Ghosts(header, track, ball.radius);
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** How much is left out: samples of the shadows' edges, then pixels. */
  setLevel(level) {
    this.level = level;
    // A processor takes long to compile: it has two variants.
    const levels = this.soft ? [[16, 2], [1, 1], [1, 0.7], [1, 0.5]] : [[16, 1], [8, 1], [4, 0.75], [1, 0.5]];
    const [taps, coarse] = levels[level];
    this.coarse = coarse;
    this.shadow = this.shadows[level > 0 ? this.shadows.length - 1 : 0];
    if (!this.variants.has(taps)) {
      const compiled = Object.entries(shaders(taps)).map(([name, text]) => [name, program(this.gl, text)]);
      this.variants.set(taps, Object.fromEntries(compiled));
    }
    this.programs = this.variants.get(taps);
  }

  /** Fits the drawing to the window. */
  resize(camera) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const dense = Math.min(window.devicePixelRatio || 1, 2) * this.coarse;
    const [width, height] = [Math.max(1, Math.round(w * dense)), Math.max(1, Math.round(h * dense))];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    camera.size = [Math.max(1, w), Math.max(1, h)];
    const [foot, panel, title, nav] = ["footer", "#panel", "#title", "#views"].map((name) => document.querySelector(name).getBoundingClientRect());
    // In narrow ones it is a sheet above the bar.
    const covered = panel.width > 0 && w <= NARROW ? panel.top : foot.top;
    // And the title is above the scene, not beside it.
    const head = w <= NARROW ? title.bottom : nav.bottom;
    camera.lift = Math.min(0.5, Math.max(-0.5, 1 - (head + covered) / Math.max(1, h)));
    camera.free = Math.max(0.2, (covered - head) / Math.max(1, h));
    camera.side = panel.width > 0 && w > WIDE ? (w - panel.left) / w : 0;
    camera.fit();
    document.documentElement.style.setProperty("--foot", `${Math.round(h - foot.top)}px`);
    this.dense = dense;
  }

  /** `state` is { frame, show, selected, pull }; `pull` is a spring from a body to the pointer. */
  draw(camera, theme, state) {
    const { gl } = this;
    this.colours = theme.colours;
    this.bodies = this.visible(state);
    const time = this.track.time(state.frame);
    this.beside = this.worlds.at(time, this.bodies.map(({ part }) => part).filter(({ look }) => look === "solid"), state.show);
    this.drawShadow(camera);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.common = this.light(camera);
    this.drawBackdrop();
    const marks = this.track.length ? this.marks.at(state.frame, state.show, camera.now.distance / (4 * this.ball.radius)) : [];
    const things = [...this.skin.at(state.frame, state.show), ...marks];
    this.drawSolids(state, things);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    if (state.show.grid) this.drawGrids(state);
    if (state.show.trails) this.drawTrails(state);
    if (state.show.plan) for (const way of this.ghosts.ways(state.frame)) this.ribbon(way.ends, [...PAINT.plan, 0.9], way.width);
    if (state.show.distances) this.drawOver(this.marks.distances(state.frame, state.selected), PAINT.normal);
    if (state.show.patches) this.drawPatches(state.frame);
    if (state.measured.length) this.drawOver(state.measured, PAINT.measure);
    if (state.pull) this.drawOver([...state.pull.from, 1, ...state.pull.to, 1], PAINT.pull);
    this.drawFaint(state, things);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  /** Parts with their places at the frame. */
  visible({ frame, show, selected }) {
    if (!this.track.length) return [];
    const looks = { solid: show.looks, collision: show.collisions };
    const parts = this.stage.parts.filter((part) => looks[part.look] || (part.look === "solid" && part.shape.collides));
    return parts.map((part) => ({ part, matrix: placed(this.track, frame, part), glow: part.body === selected ? 1 : 0 }));
  }

  light(camera) {
    const { colours } = this;
    return {
      camera: camera.matrix(), eye: camera.eye(), sun: SUN, sky: colours.sky, ground: colours.ground,
      exposure: colours.exposure, shadowMatrix: this.shadowMatrix, shadowTexel: (2 * this.shadowHalf) / this.shadow.size,
      flat_: 0, glow: 0, gloss: 0.5,
    };
  }

  use(name, values) {
    const { gl } = this;
    const chosen = this.programs[name];
    chosen.use();
    chosen.set({ ...this.common, ...values });
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow.texture);
    chosen.texture("shadowMap", 0);
    return chosen;
  }

  drawShadow() {
    const { gl, ball, shadow } = this;
    this.shadowHalf = 1.35 * ball.radius;
    const eye = add(ball.centre, scale(SUN, 3 * ball.radius));
    const up = [0, 1, 0];
    this.shadowMatrix = times(orthographic(this.shadowHalf, 0.5 * ball.radius, 6 * ball.radius), lookAt(eye, ball.centre, up));
    gl.bindFramebuffer(gl.FRAMEBUFFER, shadow.frame);
    gl.viewport(0, 0, shadow.size, shadow.size);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(2, 4);
    const { use, set } = this.programs.depth;
    use();
    set({ camera: this.shadowMatrix, stretch: [1, 1, 1] });
    for (const { part, matrix } of [...this.bodies, ...this.beside.filter(({ see }) => see === 1)]) {
      set({ model: matrix });
      part.buffers.draw();
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  drawBackdrop() {
    const { gl, colours } = this;
    gl.depthMask(false);
    this.programs.backdrop.use();
    this.programs.backdrop.set({ low: colours.low, high: colours.high });
    this.sheet.draw();
    gl.depthMask(true);
  }

  drawSolids(state, things) {
    const { set } = this.use("solid", { stretch: [1, 1, 1] });
    for (const { part, matrix, glow } of this.bodies) {
      if (part.look === "collision" && state.show.looks) continue;
      set({ model: matrix, colour: [...part.colour, 1], glow });
      part.buffers.draw();
    }
    for (const { part, matrix } of this.beside.filter(({ see }) => see === 1)) {
      set({ model: matrix, colour: [...part.colour, 1], glow: 0 });
      part.buffers.draw();
    }
    set({ glow: 0, gloss: 0.15 });
    for (const { mesh, matrix, stretch, colour, exact } of things.filter((thing) => thing.see !== 0)) {
      set({ model: matrix, stretch, colour, flat_: exact ? 2 : 0 });
      mesh.draw();
    }
  }

  drawGrids({ frame }) {
    const { gl, ball, colours } = this;
    const spacing = 10 ** Math.floor(Math.log10(0.45 * ball.radius));
    const reach = 7 * ball.radius;
    const { set } = this.use("grid", { base: colours.base, line: colours.line, spacing, reach, fine: Math.min(1, this.coarse) });
    const floors = this.track.length ? this.stage.planes.map((plane) => ({ matrix: placed(this.track, frame, plane), opacity: 0.96 })) : [];
    if (!floors.length) floors.push({ matrix: pose([0, 0, ball.bottom - 0.02 * ball.radius], UNTURNED), opacity: 0.5 });
    for (const { matrix, opacity } of floors) {
      const d = [0, 1, 2].map((k) => ball.centre[k] - matrix[12 + k]);
      const centre = [0, 4].map((c) => matrix[c] * d[0] + matrix[c + 1] * d[1] + matrix[c + 2] * d[2]);
      set({ model: matrix, normal: [matrix[8], matrix[9], matrix[10]], centre, opacity });
      this.square.draw();
    }
    this.spacing = spacing;
    gl.depthMask(false);
  }

  /** Where objects have been, fainter the longer ago. */
  drawTrails({ frame, selected }) {
    const bodies = new Set(this.trailed);
    if (selected > 0) bodies.add(selected);
    const ends = [];
    const step = Math.max(1, Math.ceil(frame / TRAIL));
    for (const body of bodies) {
      let last = null;
      for (let f = frame; f >= 0 && f > frame - TRAIL * step; f -= step) {
        const at = [...this.track.pose(f, body).p, 1 - (frame - f) / (TRAIL * step)];
        if (last) ends.push(...last, ...at);
        last = at;
      }
    }
    this.ribbon(ends, [...PAINT.trail, 0.85], 2);
  }

  /** Segments that nothing hides. */
  drawOver(ends, colour) {
    this.gl.disable(this.gl.DEPTH_TEST);
    this.ribbon(ends, [...colour, 1], 3);
    this.gl.enable(this.gl.DEPTH_TEST);
  }

  /** The outlines of contact patches, with a frame in the middle of each: the normal and two tangents. */
  drawPatches(frame) {
    const { edges, normals, tangents } = this.marks.patches(frame);
    this.drawOver(edges, PAINT.cone);
    this.drawOver(tangents, PAINT.tangent);
    this.drawOver(normals, PAINT.normal);
  }

  ribbon(ends, colour, width) {
    this.use("ribbon", { colour, width: width * this.dense, viewport: [this.canvas.width, this.canvas.height] });
    this.lines.draw(ends);
  }

  /** What lets light through: collision shapes over their looks, cones, ghosts, and marks that something hides. */
  drawFaint(state, things) {
    const { gl } = this;
    const { set } = this.use("solid", { stretch: [1, 1, 1], gloss: 0.2 });
    const faint = this.bodies.filter(({ part }) => part.look === "collision" && state.show.looks);
    for (const { part, matrix, glow } of faint) {
      set({ model: matrix, colour: [...part.colour, 0.3], glow });
      part.buffers.draw();
    }
    for (const { part, matrix, see } of this.beside.filter(({ see }) => see < 1)) {
      set({ model: matrix, colour: [...part.colour, see], glow: 0 });
      part.buffers.draw();
    }
    // A little smaller: where a body is, its ghost is hidden in it.
    set({ glow: 0, stretch: [SHRUNK, SHRUNK, SHRUNK] });
    for (const { body, p, q, colour } of state.show.plan ? this.ghosts.at(state.frame) : []) {
      for (const part of this.stage.parts.filter((part) => part.body === body && part.look === "solid")) {
        set({ model: times(pose(p, q), part.local), colour });
        part.buffers.draw();
      }
    }
    set({ stretch: [1, 1, 1] });
    gl.disable(gl.DEPTH_TEST);
    for (const { mesh, matrix, stretch, colour } of things.filter((thing) => thing.see === 0)) {
      set({ model: matrix, stretch, colour });
      mesh.draw();
    }
    gl.enable(gl.DEPTH_TEST);
    // Once more what is behind something.
    gl.depthFunc(gl.GREATER);
    for (const { mesh, matrix, stretch, colour, see, exact } of things.filter((thing) => thing.see > 0)) {
      set({ model: matrix, stretch, colour: [...colour.slice(0, 3), see], flat_: exact ? 2 : 1 });
      mesh.draw();
    }
    gl.depthFunc(gl.LESS);
  }
}
