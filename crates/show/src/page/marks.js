// What is drawn of contacts: points, normals, force arrows, friction cones.

import { add, dot, fromZ, norm, pose, scale, sub, tangents, unit } from "fingertip/vec";
import { arrowHead, arrowShaft, cone, sphere } from "fingertip/meshes";
import { PAINT } from "fingertip/theme";

/** Contacts closer than this part of the scene have a point, whether they carry force or not. */
const NEAR = 0.02;
/** Distances that are drawn, at most: more hide what they are of. */
const MOST_DISTANCES = 24;

export class Marks {
  /** `upload` takes a mesh to the card. */
  constructor(header, track, radius, upload) {
    this.contacts = header.scene.contacts;
    this.objects = header.scene.objects;
    this.track = track;
    this.radius = radius;
    this.upload = upload;
    this.shaft = upload(arrowShaft());
    this.head = upload(arrowHead());
    this.dot = upload(sphere(1, 16));
    this.cones = new Map();
    /** m/N: a large force is a third of the scene. */
    this.scale = (0.35 * radius) / this.large();
  }

  /** A large force of this recording, N; a few moments may have larger ones. */
  large() {
    const large = this.track.large((frame) => this.track.contacts(frame).map(({ force }) => norm(force) || 0));
    // Where nothing has touched yet, the weights say how large forces may be.
    const weights = this.objects.map(({ mass }) => 9.81 * mass);
    return large > 0 ? large : 2 * Math.max(0, ...weights) || 1;
  }

  /** Arrows are to be seen: forces below a hundredth of what fills the scene are not drawn. */
  least() {
    return (0.004 * this.radius) / this.scale;
  }

  /**
   * Things to draw at a frame: { mesh, matrix, stretch, colour, exact, see }. `see` is how much of it is seen behind something, null for
   * nothing; 0 is for what lets light through and nothing hides. An `exact` colour is displayed as it is.
   */
  at(frame, show, zoom) {
    const things = [];
    const thick = 0.011 * this.radius * Math.min(1, Math.max(0.35, zoom));
    for (const { contact, phi, normal, point, force } of this.track.contacts(frame)) {
      const size = norm(force);
      const loaded = size > this.least();
      if (!(loaded || phi < NEAR * this.radius) || !Number.isFinite(phi)) continue;
      if (show.contacts) {
        things.push({ mesh: this.dot, matrix: pose(point, [1, 0, 0, 0]), stretch: [1, 1, 1].map((s) => 0.9 * s * thick), colour: [...PAINT.normal, 1], see: 0.45 });
        this.arrow(things, point, normal, 0.11 * this.radius, 0.28 * thick, PAINT.normal);
      }
      if (show.forces && loaded) this.arrow(things, point, force, this.scale * size, thick, PAINT.force);
      if (show.cones && loaded) {
        const height = Math.max(0.08 * this.radius, this.scale * size);
        const matrix = pose(point, fromZ(normal));
        things.push({ mesh: this.cone(this.contacts[contact].mu), matrix, stretch: [height, height, height], colour: [...PAINT.cone, 0.2], see: 0 });
      }
    }
    return things;
  }

  /** The shortest distances, of a body if one is selected: segments from the witness point on A to that on B, eight numbers each. */
  distances(frame, body) {
    if (!this.track.length) return [];
    const of = ({ a, b }) => !(body > 0) || a === body || b === body;
    const near = this.track.contacts(frame).filter(({ contact }) => of(this.contacts[contact]));
    const shown = near.sort((a, b) => a.phi - b.phi).slice(0, MOST_DISTANCES);
    return shown.flatMap(({ phi, normal, point }) => [...add(point, scale(normal, -phi)), 1, ...point, 1]);
  }

  /** Segments of contact patches: the outlines of pairs that touch in several points, and frames where pairs touch. */
  patches(frame) {
    const pairs = new Map();
    for (const contact of this.track.length ? this.track.contacts(frame) : []) {
      if (!(contact.phi < NEAR * this.radius)) continue;
      const { a, b } = this.contacts[contact.contact];
      const key = `${a} ${b}`;
      pairs.set(key, [...(pairs.get(key) ?? []), contact]);
    }
    const segments = { edges: [], normals: [], tangents: [] };
    for (const contacts of pairs.values()) {
      const share = 1 / contacts.length;
      const middle = contacts.reduce((sum, { point }) => add(sum, scale(point, share)), [0, 0, 0]);
      const normal = unit(contacts.reduce((sum, c) => add(sum, c.normal), [0, 0, 0]));
      const [first, second] = tangents(normal);
      const angle = ({ point }) => Math.atan2(dot(sub(point, middle), second), dot(sub(point, middle), first));
      const round = [...contacts].sort((a, b) => angle(a) - angle(b));
      if (round.length > 1) {
        round.forEach(({ point }, i) => segments.edges.push(...point, 1, ...round[(i + 1) % round.length].point, 1));
      }
      const axis = (direction, part) => [...middle, 1, ...add(middle, scale(direction, part * this.radius)), 1];
      segments.normals.push(...axis(normal, 0.12));
      segments.tangents.push(...axis(first, 0.07), ...axis(second, 0.07));
    }
    return segments;
  }

  arrow(things, from, along, length, thick, colour) {
    const neck = Math.max(0.55 * length, length - 4.2 * thick);
    const turned = fromZ(along);
    const tip = add(from, scale(along, neck / (norm(along) || 1)));
    const wide = Math.min(2.3 * thick, 0.4 * length);
    const narrow = Math.min(thick, 0.2 * length);
    const paint = { colour: [...colour, 1], see: 0.45 };
    things.push({ mesh: this.shaft, matrix: pose(from, turned), stretch: [narrow, narrow, neck], ...paint });
    things.push({ mesh: this.head, matrix: pose(tip, turned), stretch: [wide, wide, length - neck], ...paint });
  }

  cone(mu) {
    const key = Math.max(0, mu).toFixed(3);
    if (!this.cones.has(key)) this.cones.set(key, this.upload(cone(mu, 1)));
    return this.cones.get(key);
  }
}
