// Where bodies are to be: the goal, and the plan.

import { PAINT } from "fingertip/theme";
import { norm, sub } from "fingertip/vec";

/** So many states of a plan are drawn with their bodies; of all there are lines. */
const STATES = 3;

/** Is one pose another than the other, as far as can be seen? `reach` is the size of the scene. */
function isAway(a, b, reach) {
  const turned = Math.abs(a.q.reduce((sum, x, k) => sum + x * b.q[k], 0));
  return norm(sub(a.p, b.p)) > 0.02 * reach || turned < 0.999;
}

export class Ghosts {
  constructor(header, track, reach) {
    this.reach = reach;
    this.scene = header.scene;
    this.track = track;
    /** [{ body, position, quaternion }], null is free; a live page changes them. */
    this.goals = header.scene.goals ?? [];
    this.objects = new Set(header.scene.bodies.flatMap(({ role }, i) => (role === "object" ? [i] : [])));
  }

  /** Bodies that are drawn once more: [{ body, p, q, colour }]. */
  at(frame) {
    if (!this.track.length) return [];
    const goals = this.goals.map(({ body, position, quaternion }) => {
      const now = this.track.pose(frame, body);
      return { body, p: this.level(body, position, now.p), q: quaternion ?? now.q, colour: [...PAINT.goal, 0.3] };
    });
    const plan = this.track.plan(frame).filter(({ body }) => this.objects.has(body));
    const states = plan.flatMap(({ body, poses }) => {
      const last = poses.length - 1;
      const chosen = Array.from({ length: STATES }, (_, i) => Math.round((last * (i + 1)) / STATES));
      const now = this.track.pose(frame, body);
      const away = chosen.filter((k) => isAway(now, poses[k], this.reach));
      return away.map((k) => ({ body, ...poses[k], colour: [...PAINT.plan, 0.06 + (0.12 * k) / last] }));
    });
    return [...goals, ...states];
  }

  /** The goal of an object in a level plane leaves its height. */
  level(body, position, now) {
    if (!position) return now;
    const { name } = this.scene.bodies[body];
    const has = (axis) => this.scene.q_names.includes(`${name}.${axis}`);
    return has("x") && !has("z") ? [position[0], position[1], now[2]] : position;
  }

  /** The plan's lines: [{ ends, width }], eight numbers for each segment. */
  ways(frame) {
    return this.track.plan(frame).map(({ body, poses }) => {
      const see = (k) => 1 - (0.75 * k) / (poses.length - 1);
      const ends = poses.slice(1).flatMap(({ p }, k) => [...poses[k].p, see(k), ...p, see(k + 1)]);
      return { ends, width: this.objects.has(body) ? 3.5 : 1.8 };
    });
  }
}
