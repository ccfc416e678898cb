// What there is to draw: a part for each shape, a grid for each half-space, and how much room they take.

import { meshOf } from "fingertip/meshes";
import { PAINT } from "fingertip/theme";
import { add, norm, pose, scale, sub, times, turn } from "fingertip/vec";

/** Half the size of a shape, m. */
function reach({ kind, sizes, vertices }) {
  switch (kind) {
    case "capsule":
      return sizes[0] + sizes[1];
    case "cylinder":
      return Math.hypot(sizes[0], sizes[1]);
    case "box":
      return Math.hypot(sizes[0], sizes[1], sizes[2]);
    case "hull":
    case "mesh":
      return vertices.reduce((most, vertex) => Math.max(most, norm(vertex)), 0);
    default:
      return Math.max(...sizes);
  }
}

/**
 * Parts are { body, shape, mesh, local, colour, look }: `look` is "solid" for what is looked at, "collision" for what
 * collides on a body that has something to look at besides.
 */
export function buildStage(scene, soft) {
  const owner = (body) => scene.bodies[body].name.split("/")[0];
  const seen = new Set(scene.shapes.filter((s) => !s.collides).map((s) => s.body));
  const objects = [...new Set(scene.bodies.flatMap((b, i) => (b.role === "object" ? [owner(i)] : [])))];
  const colourOf = (shape) => {
    const { role } = scene.bodies[shape.body];
    if (shape.rgba) return shape.rgba.slice(0, 3).map((c) => c ** 2.2);
    if (role === "object") return PAINT.objects[objects.indexOf(owner(shape.body)) % PAINT.objects.length];
    return PAINT[role];
  };
  const [parts, planes] = [[], []];
  for (const shape of scene.shapes) {
    const local = pose(shape.position, shape.quaternion);
    if (shape.kind === "halfspace") {
      planes.push({ body: shape.body, local });
      continue;
    }
    const covered = shape.collides && seen.has(shape.body);
    const look = covered ? "collision" : "solid";
    parts.push({ body: shape.body, shape, mesh: meshOf(shape, soft), local, look, colour: covered ? PAINT.pad : colourOf(shape) });
  }
  return { parts, planes };
}

/** What is this many times as far away as the scene was large at its start has fallen away. */
const AWAY = 4;
/** Frames that are looked at besides the first. */
const SAMPLES = 16;
/** A scene with nothing in it. */
const EMPTY = [{ at: [0, 0, 0], r: 0.5 }];

/** A sphere { at, r } around each shape at a frame. */
function spheres(shapes, track, frame) {
  const sphere = (shape) => {
    const { p, q } = track.pose(frame, shape.body);
    return { at: add(p, turn(q, shape.position)), r: reach(shape) };
  };
  return shapes.map(sphere).filter(({ at }) => at.every(Number.isFinite));
}

/** The corners of the box around spheres. */
function box(list) {
  const corner = (side) => [0, 1, 2].map((k) => side * Math.max(...list.map(({ at, r }) => side * at[k] + r)));
  return [corner(-1), corner(1)];
}

/** The ball around everything that has an end and is still there, over some of the frames, and the spheres in it; as often as it stands in places along x. */
export function surround(scene, track, places = [0]) {
  const finite = scene.shapes.filter((shape) => shape.kind !== "halfspace");
  const start = spheres(finite, track, 0);
  if (!start.length) start.push(...EMPTY);
  const [first, last] = box(start);
  const [middle, limit] = [scale(add(first, last), 0.5), AWAY * norm(sub(last, first))];
  const frames = Array.from({ length: SAMPLES }, (_, i) => Math.floor(((i + 1) / SAMPLES) * Math.max(0, track.length - 1)));
  const later = [...new Set(frames)].flatMap((frame) => spheres(finite, track, frame));
  const once = [...start, ...later.filter(({ at }) => norm(sub(at, middle)) < limit)];
  const all = places.flatMap((x) => once.map(({ at, r }) => ({ at: add(at, [x, 0, 0]), r })));
  const [low, high] = box(all);
  return { centre: scale(add(low, high), 0.5), radius: Math.max(0.01, 0.5 * norm(sub(high, low))), bottom: low[2], spheres: all };
}

export const placed = (track, frame, { body, local }) => {
  const { p, q } = track.pose(frame, body);
  return times(pose(p, q), local);
};
