// Measuring between two points of bodies or of the ground, which move with what they are on.

import { placed } from "fingertip/stage";
import { add, dot, norm, scale, sub, turn } from "fingertip/vec";

const millimetres = (x) => (1e3 * x).toFixed(2).replace(/^-(?=0\.00$)/, "").replace("-", "−");

export class Measure {
  constructor(element, track, names) {
    Object.assign(this, { element, track, names });
    this.on = false;
    /** The points: { body, local } in the body's frame. */
    this.ends = [];
  }

  toggle() {
    this.on = !this.on;
    this.ends = [];
    return this.on;
  }

  /** Takes a point of the world on a body; the third begins anew. */
  take(hit, frame) {
    if (!hit) return;
    const { p, q: [w, x, y, z] } = this.track.pose(frame, hit.body);
    if (this.ends.length === 2) this.ends = [];
    this.ends.push({ body: hit.body, local: turn([w, -x, -y, -z], sub(hit.point, p)) });
  }

  /** Where the points are at a frame. */
  points(frame) {
    return this.ends.map(({ body, local }) => {
      const { p, q } = this.track.pose(frame, body);
      return add(p, turn(q, local));
    });
  }

  /** Says what has been measured; the line between the points, eight numbers as segments are drawn. */
  show(frame) {
    this.element.hidden = !this.on;
    if (!this.on) return [];
    const points = this.points(frame);
    const [a, b] = points;
    const between = this.ends.map(({ body }) => this.names[body]).join(" – ");
    const along = b && sub(b, a).map((x, k) => `${"xyz"[k]} ${millimetres(x)}`).join(", ");
    const asked = a ? `${between}: click a second point.` : "Click two points to measure between them.";
    const text = b ? `${between}: ${millimetres(norm(sub(b, a)))} mm (${along})` : asked;
    if (this.element.textContent !== text) this.element.textContent = text;
    return b ? [...a, 1, ...b, 1] : [];
  }
}

/** The nearest point of a half-space's side on a ray: { body, point, distance }, or null. */
export function pickPlane(planes, track, frame, { from, along }) {
  let best = null;
  for (const plane of planes) {
    const m = placed(track, frame, plane);
    const normal = [m[8], m[9], m[10]];
    const slope = dot(along, normal);
    if (slope > -1e-9) continue;
    const distance = dot(sub([m[12], m[13], m[14]], from), normal) / slope;
    if (distance > 0 && distance < (best?.distance ?? Infinity)) {
      best = { body: plane.body, distance, point: add(from, scale(along, distance)) };
    }
  }
  return best;
}
