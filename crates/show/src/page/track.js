// The frames: rows of numbers, one per step, with the start in front. A live page appends to them.

/** Rows that a live page keeps. */
const MOST_ROWS = 6000;
/** Numbers of a pose (x, y, z, w, x, y, z) and of a contact as it is drawn (gap, normal, point, force). */
const POSE = 7;
const DRAWN_CONTACT = 10;
const STATUS = ["solved", "iteration limit", "unsettled", "frictionless", "infeasible", "bad input"];

export class Track {
  /** `header` says how long a row is and where what begins. */
  constructor(header, rows) {
    this.layout = header.layout;
    this.stride = header.layout.stride;
    this.nContacts = header.scene.contacts.length;
    this.planned = header.plan;
    this.rows = rows;
    this.length = Math.floor(rows.length / this.stride);
    /** Rows that were dropped in front. */
    this.dropped = 0;
  }

  append(row) {
    if (this.length >= MOST_ROWS) {
      const half = this.length >> 1;
      this.rows.copyWithin(0, half * this.stride, this.length * this.stride);
      this.length -= half;
      this.dropped += half;
    }
    const end = (this.length + 1) * this.stride;
    if (end > this.rows.length) {
      const grown = new Float32Array(Math.max(2 * this.rows.length, 256 * this.stride));
      grown.set(this.rows);
      this.rows = grown;
    }
    this.rows.set(row, this.length * this.stride);
    this.length++;
  }

  clear() {
    this.length = 0;
    this.dropped = 0;
  }

  number(frame, place) {
    return this.rows[frame * this.stride + place];
  }

  time(frame) {
    return this.length ? this.number(frame, this.layout.time) : 0;
  }

  /** The last frame at or before a time. */
  at(time) {
    let [low, high] = [0, this.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      // Times are in single precision.
      if (this.time(middle) <= time * (1 + 1e-6) + 1e-9) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  status(frame) {
    return STATUS[this.number(frame, this.layout.status)] ?? "";
  }

  pose(frame, body) {
    const at = frame * this.stride + this.layout.poses + POSE * body;
    const r = this.rows;
    return { p: [r[at], r[at + 1], r[at + 2]], q: [r[at + 3], r[at + 4], r[at + 5], r[at + 6]] };
  }

  contact(frame, i) {
    const at = frame * this.stride + this.layout.contacts + DRAWN_CONTACT * i;
    const three = (k) => [this.rows[at + k], this.rows[at + k + 1], this.rows[at + k + 2]];
    return { phi: this.rows[at], normal: three(1), point: three(4), force: three(7) };
  }

  /** The predicted ways of bodies by the plan that is followed: [{ body, poses: [{ p, q }] }], the first pose is the plan's start. */
  plan(frame) {
    const { n_poses: n, bodies } = this.planned;
    const first = frame * this.stride + this.layout.plan;
    if (!this.length || !n || !Number.isFinite(this.rows[first])) return [];
    return bodies.map((body, i) => {
      const poses = Array.from({ length: n }, (_, k) => {
        const at = first + POSE * (k * bodies.length + i);
        return { p: [...this.rows.subarray(at, at + 3)], q: [...this.rows.subarray(at + 3, at + POSE)] };
      });
      return { body, poses };
    });
  }

  /** The taxels that feel something: [{ taxel, force }], N. */
  pressed(frame) {
    const list = [];
    for (let at = frame * this.stride + this.layout.taxels; at < (frame + 1) * this.stride; at += 2) {
      if (this.rows[at + 1] !== 0) list.push({ taxel: this.rows[at], force: this.rows[at + 1] });
    }
    return list;
  }

  /** What is large of numbers that frames have, lists; a few moments may have larger ones. 0 where there are none. */
  large(of) {
    const most = [];
    for (let frame = 1; frame < this.length; frame += Math.max(1, Math.floor(this.length / 300))) {
      most.push(Math.max(0, ...of(frame)));
    }
    most.sort((a, b) => a - b);
    return most[Math.floor(0.95 * (most.length - 1))] ?? 0;
  }

  /** Of contacts together: the force on b, and the least gap, NaN where none takes part. */
  together(frame, contacts) {
    const force = [0, 0, 0];
    let gap = NaN;
    for (const i of contacts) {
      const contact = this.contact(frame, i);
      contact.force.forEach((f, k) => (force[k] += f));
      if (!(contact.phi >= gap)) gap = Number.isFinite(contact.phi) ? contact.phi : gap;
    }
    return { force, gap };
  }

  /** Size of a contact's force, N. */
  force(frame, i) {
    const at = frame * this.stride + this.layout.contacts + DRAWN_CONTACT * i + 7;
    return Math.hypot(this.rows[at], this.rows[at + 1], this.rows[at + 2]);
  }
}

/** The frames that a page carries, as base64 of 32-bit numbers. */
export function decode(base64) {
  const text = base64.trim();
  if (Uint8Array.fromBase64) return new Float32Array(Uint8Array.fromBase64(text).buffer);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}
