// What taxels feel: a patch at each, coloured by the force on it.

import { add, cross, dot, norm, pose, scale, sub, tangents, times, unit } from "fingertip/vec";
import { HEAT, heat } from "fingertip/theme";
import { digits } from "fingertip/names";

/** A patch's part of the way to the next taxel, and how far it and what is pressed are above their place. */
const [WIDE, LIFT, PRESSED] = [0.9, 0.05, 0.1];
/** Taxels of a pad that are looked at for how far the next one is, at most. */
const SAMPLES = 64;
/** How much of what is pressed is seen behind what presses it. */
const HOT = 0.75;

export class Skin {
  /** `upload` takes a mesh to the card; `element` is the scale. */
  constructor(header, track, element, upload) {
    Object.assign(this, { track, element, live: Boolean(header.live) });
    this.pads = (header.scene.taxels ?? []).map((pad) => new Pad(pad, upload));
    this.taxels = this.pads.flatMap((pad) => pad.points.map((_, i) => [pad, i]));
    /** N: the scale's end. On a live page it grows. */
    this.most = this.live ? 0 : track.large((frame) => track.pressed(frame).map(({ force }) => force));
    element.querySelector("i").style.background = `linear-gradient(to right, ${HEAT.join(", ")})`;
  }

  /** Things to draw at a frame, as those of marks. */
  at(frame, show) {
    this.element.hidden = !show.taxels || !this.pads.length;
    if (this.element.hidden || !this.track.length) return [];
    const pressed = this.track.pressed(frame);
    if (this.live) this.most = Math.max(this.most, ...pressed.map(({ force }) => force));
    this.element.querySelector("output").textContent = amount(this.most);
    const places = new Map(this.pads.map((pad) => [pad, this.place(frame, pad)]));
    const thing = { stretch: [1, 1, 1], exact: true };
    const rest = this.pads.map((pad) => ({ ...thing, mesh: pad.all, matrix: places.get(pad), colour: [...heat(0), 1], see: null }));
    const hot = pressed.map(({ taxel, force }) => {
      const [pad, i] = this.taxels[taxel];
      return { ...thing, mesh: pad.one, matrix: times(places.get(pad), pad.local(i)), colour: [...heat(force / this.most), 1], see: HOT };
    });
    return [...rest, ...hot];
  }

  place(frame, { body }) {
    const { p, q } = this.track.pose(frame, body);
    return pose(p, q);
  }
}

const amount = (force) => (force < 1 ? `${digits(1e3 * force, 3)} mN` : `${digits(force, 3)} N`);

class Pad {
  constructor({ body, points, normals, reach }, upload) {
    Object.assign(this, { body, points, normals });
    // Taxels of a touch sensor share their places.
    const next = (i) => points.map((point) => norm(sub(point, points[i]))).filter((distance) => distance > 0);
    const apart = (i) => next(i).reduce((least, distance) => Math.min(least, distance), reach);
    const every = Math.ceil(points.length / SAMPLES);
    const near = points.map((_, i) => i).filter((i) => i % every === 0).map(apart).sort((a, b) => a - b);
    this.side = near[near.length >> 1];
    // Patches lie along the way from a taxel to the next.
    this.along = points.length > 1 ? sub(points[1], points[0]) : [1, 0, 0];
    const half = 0.5 * WIDE * this.side;
    const square = [[-half, -half], [half, -half], [half, half], [-half, half]];
    const mesh = (patches) => ({
      positions: patches.flatMap(({ at, axes: [x, y] }) => square.flatMap(([a, b]) => add(at, add(scale(x, a), scale(y, b))))),
      normals: patches.flatMap(({ axes: [, , z] }) => square.flatMap(() => z)),
      indices: patches.flatMap((_, i) => [0, 1, 2, 0, 2, 3].map((corner) => 4 * i + corner)),
    });
    this.all = upload(mesh(points.map((point, i) => ({ at: add(point, scale(normals[i], LIFT * this.side)), axes: this.axes(i) }))));
    this.one = upload(mesh([{ at: [0, 0, PRESSED * this.side], axes: [[1, 0, 0], [0, 1, 0], [0, 0, 1]] }]));
  }

  axes(i) {
    const z = this.normals[i];
    const flat = sub(this.along, scale(z, dot(this.along, z)));
    const x = norm(flat) > 1e-6 * norm(this.along) ? unit(flat) : tangents(z)[0];
    return [x, cross(z, x), z];
  }

  /** The frame of a taxel in the body's. */
  local(i) {
    return new Float32Array([...this.axes(i).flatMap((axis) => [...axis, 0]), ...this.points[i], 1]);
  }
}
