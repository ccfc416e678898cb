// The frames: rows of numbers, one per step, with the start in front. A live page appends to them.

/** Rows that a live page keeps. */
const MOST_ROWS = 6000;
/** Numbers of a pose (x, y, z, w, x, y, z) and of a contact as it is drawn (its place among all, gap, normal, point, force). */
const POSE = 7;
const DRAWN_CONTACT = 11;
const STATUS = ["solved", "iteration limit", "unsettled", "frictionless", "infeasible", "bad input"];

export class Track {
  /** `header` says how long a row is and where what begins. */
  constructor(header, rows) {
    this.layout = header.layout;
    this.stride = header.layout.stride;
    this.planned = header.plan;
    this.rows = header.live ? new Float32Array(0) : rows;
    this.length = Math.floor(this.rows.length / this.stride);
    /** Rows that were dropped in front. */
    this.dropped = 0;
    if (header.live && rows.length) this.append(rows);
  }

  /** Adds a row, which ends with the contacts that take part. */
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
    this.rows.fill(NaN, this.length * this.stride + row.length, end);
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

  /** The contacts that take part in a frame: [{ contact, phi, normal, point, force }], `contact` its place among all. */
  contacts(frame) {
    const list = [];
    for (let at = frame * this.stride + this.layout.contacts; at < (frame + 1) * this.stride && this.rows[at] >= 0; at += DRAWN_CONTACT) {
      const three = (k) => [this.rows[at + k], this.rows[at + k + 1], this.rows[at + k + 2]];
      list.push({ contact: this.rows[at], phi: this.rows[at + 1], normal: three(2), point: three(5), force: three(8) });
    }
    return list;
  }

  /** Where the numbers of a frame's first contact from this one on begin: they are in the contacts' order. */
  from(frame, contact) {
    const first = frame * this.stride + this.layout.contacts;
    let [low, high] = [0, (this.stride - this.layout.contacts) / DRAWN_CONTACT];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[first + DRAWN_CONTACT * middle] < contact) low = middle + 1;
      else high = middle;
    }
    return first + DRAWN_CONTACT * low;
  }

  /** Where a contact's numbers begin in a frame, -1 if it takes no part. */
  place(frame, contact) {
    const at = this.from(frame, contact);
    return at < (frame + 1) * this.stride && this.rows[at] === contact ? at : -1;
  }

  /** Signed distance of a contact, m; NaN if it takes no part. */
  gap(frame, contact) {
    const at = this.place(frame, contact);
    return at < 0 ? NaN : this.rows[at + 1];
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
    const first = frame * this.stride;
    for (let at = first + this.layout.taxels; at < first + this.layout.contacts; at += 2) {
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

  /** Of contacts together, in their order: the force on b, and the least gap, NaN where none takes part. */
  together(frame, contacts) {
    const [force, last, end] = [[0, 0, 0], contacts[contacts.length - 1], (frame + 1) * this.stride];
    let [gap, k] = [NaN, 0];
    for (let at = this.from(frame, contacts[0]); at < end && this.rows[at] <= last; at += DRAWN_CONTACT) {
      while (contacts[k] < this.rows[at]) k++;
      if (contacts[k] !== this.rows[at]) continue;
      for (let axis = 0; axis < 3; axis++) force[axis] += this.rows[at + 8 + axis];
      if (!(this.rows[at + 1] >= gap)) gap = this.rows[at + 1];
    }
    return { force, gap };
  }

  /** Size of a contact's force, N. */
  force(frame, contact) {
    const at = this.place(frame, contact);
    return at < 0 ? 0 : Math.hypot(this.rows[at + 8], this.rows[at + 9], this.rows[at + 10]);
  }
}

/** The bytes of a text in base64. */
export function bytes(base64) {
  const text = base64.trim();
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text).buffer;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

/** The frames that a page carries, as base64 of 32-bit numbers. */
export const decode = (base64) => new Float32Array(bytes(base64));
