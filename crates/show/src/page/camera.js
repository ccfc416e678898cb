// A camera that goes round a point.

import { add, apply, cross, dot, lookAt, mix, norm, perspective, scale, sub, times, unit } from "fingertip/vec";

const FOV = (32 * Math.PI) / 180;
/** The camera stays this far from looking straight up or down. */
const POLE = 0.01;
/** Some room around what is to be seen. */
const ROOM = 1.06;

export class Camera {
  /** `ball` is what is to be seen: { centre, radius, spheres }, a sphere { at, r } for each thing in it; `size` is that of the window, CSS pixels. */
  constructor(ball, size) {
    this.ball = ball;
    this.size = size;
    /** The middle of the view stands this much above the middle of the window, in half heights: something covers its foot. */
    this.lift = 0;
    /** So much of the height is not covered. */
    this.free = 1;
    /** The middle of the view stands this much to the left, in half widths: something covers the window's right. */
    this.side = 0;
    this.now = this.home();
    this.goal = { ...this.now };
    /** The named view that nobody has left since. */
    this.named = "home";
  }

  home() {
    return this.view(-0.85, 0.36);
  }

  /** Everything in sight, as large as it can be in what is not covered. */
  view(yaw, pitch) {
    const axes = this.axes({ yaw, pitch });
    const { spheres } = this.ball;
    const middle = ["right", "up", "back"].map((name) => {
      const along = axes[name];
      const ends = spheres.flatMap(({ at, r }) => [dot(at, along) - r, dot(at, along) + r]);
      return scale(along, 0.5 * (Math.min(...ends) + Math.max(...ends)));
    });
    const target = middle.reduce(add);
    const t = Math.tan(FOV / 2);
    const [high, wide] = [t * this.free, (t * this.size[0] * (1 - this.side)) / this.size[1]];
    const needed = spheres.map(({ at, r }) => {
      const from = sub(at, target);
      const across = (along) => Math.abs(dot(from, along)) + r;
      return dot(from, axes.back) + Math.max(across(axes.up) / high, across(axes.right) / wide);
    });
    return { target, yaw, pitch, distance: ROOM * Math.max(...needed) };
  }

  /** Goes to a named view. */
  preset(name) {
    const views = { home: [-0.85, 0.36], front: [-Math.PI / 2, 0.05], side: [0, 0.05], top: [-Math.PI / 2, Math.PI / 2] };
    if (!views[name]) return;
    this.goal = this.view(...views[name]);
    this.named = name;
  }

  /** Goes to a place: { yaw, pitch, distance, target }. */
  at(place) {
    this.named = null;
    const most = Math.PI / 2 - POLE;
    this.goal = { ...place, pitch: Math.max(-most, Math.min(most, place.pitch)) };
  }

  /** The window, or what covers it, is another: a named view is made to fit again. */
  fit() {
    const room = [this.lift, this.side, this.free, ...this.size].join();
    if (room === this.room) return;
    this.room = room;
    if (this.named) this.preset(this.named);
  }

  orbit(dx, dy) {
    this.named = null;
    this.goal.yaw -= 0.006 * dx;
    const most = Math.PI / 2 - POLE;
    this.goal.pitch = Math.max(-most, Math.min(most, this.goal.pitch + 0.006 * dy));
  }

  pan(dx, dy) {
    this.named = null;
    const { right, up } = this.axes();
    const perPixel = (2 * this.goal.distance * Math.tan(FOV / 2)) / this.size[1];
    this.goal.target = add(this.goal.target, add(scale(right, -dx * perPixel), scale(up, dy * perPixel)));
  }

  /** Nearer (below 1) or farther, with the point under the pixel kept where it is. */
  zoom(factor, [x, y] = this.middle()) {
    this.named = null;
    const before = this.goal.distance;
    const least = 0.05 * this.ball.radius;
    this.goal.distance = Math.max(least, Math.min(40 * this.ball.radius, before * factor));
    const { right, up } = this.axes();
    const perPixel = (2 * (before - this.goal.distance) * Math.tan(FOV / 2)) / this.size[1];
    const middle = this.middle();
    const [dx, dy] = [x - middle[0], y - middle[1]];
    this.goal.target = add(this.goal.target, add(scale(right, dx * perPixel), scale(up, -dy * perPixel)));
  }

  /** The pixel at which the target is. */
  middle() {
    return [(this.size[0] / 2) * (1 - this.side), (this.size[1] / 2) * (1 - this.lift)];
  }

  /** Moves along, without delay. */
  carry(step) {
    this.named = null;
    this.now.target = add(this.now.target, step);
    this.goal.target = add(this.goal.target, step);
  }

  /** Comes nearer to where it is to be; says whether it still moves. */
  glide(seconds) {
    const part = 1 - Math.exp(-14 * seconds);
    const { now, goal } = this;
    const rest = norm(sub(goal.target, now.target)) / goal.distance + Math.abs(goal.yaw - now.yaw)
      + Math.abs(goal.pitch - now.pitch) + Math.abs(Math.log(goal.distance / now.distance));
    if (rest < 1e-4) {
      this.now = { ...goal };
      return rest > 0;
    }
    now.target = mix(now.target, goal.target, part);
    for (const name of ["yaw", "pitch", "distance"]) now[name] += part * (goal[name] - now[name]);
    return true;
  }

  axes({ yaw, pitch } = this.now) {
    const p = Math.min(Math.PI / 2 - POLE, pitch);
    const back = [Math.cos(p) * Math.cos(yaw), Math.cos(p) * Math.sin(yaw), Math.sin(p)];
    const right = unit(cross([0, 0, 1], back));
    return { back, right, up: cross(back, right) };
  }

  eye() {
    return add(this.now.target, scale(this.axes().back, this.now.distance));
  }

  matrix() {
    const { distance } = this.now;
    const far = distance + 30 * this.ball.radius;
    const lens = perspective(FOV, this.size[0] / this.size[1], Math.max(0.02 * distance, 1e-4), far);
    [lens[8], lens[9]] = [this.side, -this.lift];
    return times(lens, lookAt(this.eye(), this.now.target, [0, 0, 1]));
  }

  /** Where a point of the world is on the screen, in CSS pixels; and how far behind the lens. */
  project(point) {
    const [x, y, , w] = apply(this.matrix(), point);
    return { x: (0.5 + (0.5 * x) / w) * this.size[0], y: (0.5 - (0.5 * y) / w) * this.size[1], depth: w };
  }

  /** The ray through a pixel: { from, along }. */
  ray(x, y) {
    const { back, right, up } = this.axes();
    const t = Math.tan(FOV / 2);
    const u = ((2 * x) / this.size[0] - 1 + this.side) * t * (this.size[0] / this.size[1]);
    const v = (1 - (2 * y) / this.size[1] - this.lift) * t;
    return { from: this.eye(), along: unit(add(scale(back, -1), add(scale(right, u), scale(up, v)))) };
  }
}
