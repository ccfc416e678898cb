// Other recordings of the same bodies, shown with this one: over it, or side by side.

import { decode } from "fingertip/track";
import { pose, times } from "fingertip/vec";

/** From one world to the next side by side, in radii of the scene. */
const APART = 1.7;
/** How much is seen of a world that lies over another. */
const OVER = 0.3;
const POSE = 7;

class World {
  constructor({ name, rows }, nBodies) {
    this.name = name;
    this.rows = decode(rows);
    this.stride = 1 + POSE * nBodies;
    this.length = Math.floor(this.rows.length / this.stride);
  }

  time(frame) {
    return this.rows[frame * this.stride];
  }

  /** The last frame at or before a time. */
  at(time) {
    let [low, high] = [0, this.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.time(middle) <= time + 1e-6) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  pose(frame, body) {
    const at = frame * this.stride + 1 + POSE * body;
    return { p: [...this.rows.subarray(at, at + 3)], q: [...this.rows.subarray(at + 3, at + POSE)] };
  }
}

export class Worlds {
  /** `radius` is the scene's. */
  constructor(header, radius) {
    this.list = (header.worlds ?? []).map((world) => new World(world, header.scene.bodies.length));
    this.step = APART * radius;
  }

  /** Where the worlds stand, this one first, m along x. */
  places(apart) {
    return [0, ...this.list.map((_, i) => (apart ? (i + 1) * this.step : 0))];
  }

  /** Parts of the other worlds at a time: [{ part, matrix, see }]. */
  at(time, parts, { worlds, apart }) {
    if (!worlds) return [];
    const places = this.places(apart);
    return this.list.flatMap((world, i) => {
      const frame = world.at(time);
      return parts.map((part) => {
        const { p: [x, y, z], q } = world.pose(frame, part.body);
        return { part, matrix: times(pose([x + places[i + 1], y, z], q), part.local), see: apart ? 1 : OVER };
      });
    });
  }
}
