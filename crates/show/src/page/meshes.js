// Triangles of every shape: { positions, normals, indices }.

import { bytes, decode } from "fingertip/track";
import { add, cross, dot, sub, unit } from "fingertip/vec";

/** Corners around a circle; fewer where the processor draws. */
const [ROUND, COARSE] = [48, 24];
/** Edges of boxes and cylinders are drawn with a bevel of this part of their smallest half extent: they catch the light. */
const BEVEL = 0.035;

/** A surface of revolution about z from points [r, z, normal r, normal z], bottom to top. */
function lathe(profile, segments) {
  const [positions, normals, indices] = [[], [], []];
  for (let j = 0; j <= segments; j++) {
    const [c, s] = [Math.cos((2 * Math.PI * j) / segments), Math.sin((2 * Math.PI * j) / segments)];
    for (const [r, z, nr, nz] of profile) {
      positions.push(r * c, r * s, z);
      normals.push(nr * c, nr * s, nz);
    }
  }
  const n = profile.length;
  for (let j = 0; j < segments; j++) {
    for (let i = 0; i + 1 < n; i++) {
      const a = j * n + i;
      indices.push(a, a + n, a + 1, a + 1, a + n, a + n + 1);
    }
  }
  return { positions, normals, indices };
}

/** The part of a circle from one angle to another, as a profile. */
function arc(r, z, radius, from, to, steps) {
  return Array.from({ length: steps + 1 }, (_, i) => {
    const angle = from + ((to - from) * i) / steps;
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    return [r + radius * c, z + radius * s, c, s];
  });
}

const QUARTER = Math.PI / 2;

export const sphere = (radius, steps) => lathe(arc(0, 0, radius, -QUARTER, QUARTER, steps / 2), steps);

const capsule = (radius, half, round) =>
  lathe([...arc(0, -half, radius, -QUARTER, 0, round / 4), ...arc(0, half, radius, 0, QUARTER, round / 4)], round);

function cylinder(radius, half, round) {
  const bevel = BEVEL * 2 * Math.min(radius, half);
  const profile = [
    [0, -half, 0, -1],
    ...arc(radius - bevel, bevel - half, bevel, -QUARTER, 0, round / 12),
    ...arc(radius - bevel, half - bevel, bevel, 0, QUARTER, round / 12),
    [0, half, 0, 1],
  ];
  return lathe(profile, round);
}

/** From its tip at the origin upwards, with half opening of slope `slope`. */
export const cone = (slope, height) => {
  const n = Math.hypot(1, slope);
  return lathe([[0, 0, 1 / n, -slope / n], [slope * height, height, 1 / n, -slope / n]], 40);
};

/** An arrow of unit length along z: a shaft up to `neck`, then the head. Thickness is unit as well. */
export function arrowShaft() {
  return lathe([[0, 0, 0, -1], [1, 0, 0, -1], [1, 0, 1, 0], [1, 1, 1, 0]], 20);
}

export function arrowHead() {
  return lathe([[0, 0, 0, -1], [1, 0, 0, -1], [1, 0, 0.92, 0.38], [0, 1, 0.92, 0.38]], 24);
}

function ellipsoid(radii, round) {
  const { positions, normals, indices } = sphere(1, round);
  for (let i = 0; i < positions.length; i += 3) {
    const n = radii.map((r, k) => normals[i + k] / r);
    const size = Math.hypot(...n);
    for (let k = 0; k < 3; k++) {
      positions[i + k] *= radii[k];
      normals[i + k] = n[k] / size;
    }
  }
  return { positions, normals, indices };
}

/** A box whose edges and corners are pieces of a ball: a ball pulled apart at its three middle planes. */
function roundedBox(half, rounding) {
  const least = Math.min(...half);
  const radius = rounding > 0 ? rounding : 2 * BEVEL * least;
  const core = half.map((h) => h - radius);
  const steps = rounding > 0 ? 8 : 3;
  const [positions, normals, indices] = [[], [], []];
  // Latitudes and longitudes with the sign that they have in each half or quarter.
  const parts = (n, from) => Array.from({ length: steps + 1 }, (_, i) => (from + i / steps) * (Math.PI / 2));
  const latitudes = [-1, 0].flatMap((k) => parts(steps, k).map((angle) => [angle, k < 0 ? -1 : 1]));
  const longitudes = [0, 1, 2, 3].flatMap((k) => parts(steps, k).map((angle) => [angle, k]));
  const rows = latitudes.length;
  for (const [longitude, quarter] of longitudes) {
    const sx = quarter === 0 || quarter === 3 ? 1 : -1;
    const sy = quarter < 2 ? 1 : -1;
    for (const [latitude, sz] of latitudes) {
      const c = Math.cos(latitude);
      const n = [c * Math.cos(longitude), c * Math.sin(longitude), Math.sin(latitude)];
      normals.push(...n);
      positions.push(sx * core[0] + radius * n[0], sy * core[1] + radius * n[1], sz * core[2] + radius * n[2]);
    }
  }
  const columns = longitudes.length;
  for (let j = 0; j < columns; j++) {
    for (let i = 0; i + 1 < rows; i++) {
      const [a, b] = [j * rows + i, ((j + 1) % columns) * rows + i];
      indices.push(a, b, a + 1, a + 1, b, b + 1);
    }
  }
  // Bottom and top: the four corners at the poles.
  const corner = (quarter, row) => quarter * (steps + 1) * rows + row;
  const [bottom, top] = [[0, 1, 2, 3].map((k) => corner(k, 0)), [0, 1, 2, 3].map((k) => corner(k, rows - 1))];
  indices.push(top[0], top[1], top[2], top[0], top[2], top[3]);
  indices.push(bottom[0], bottom[2], bottom[1], bottom[0], bottom[3], bottom[2]);
  return { positions, normals, indices };
}

function hull(vertices, faces) {
  const [positions, normals, indices] = [[], [], []];
  for (const face of faces) {
    const [a, b, c] = face.slice(0, 3).map((i) => vertices[i]);
    const [u, v] = [b.map((x, k) => x - a[k]), c.map((x, k) => x - a[k])];
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const size = Math.hypot(...n) || 1;
    const first = positions.length / 3;
    for (const i of face) {
      positions.push(...vertices[i]);
      normals.push(...n.map((x) => x / size));
    }
    for (let i = 1; i + 1 < face.length; i++) indices.push(first, first + i, first + i + 1);
  }
  return { positions, normals, indices };
}

/** Faces that meet at less than this angle look like one smooth surface: its cosine. */
const CREASE = Math.cos((35 * Math.PI) / 180);

/** A mesh, smooth but for its edges. */
function smooth(vertices, faces) {
  const normal = faces.map(([i, j, k]) => {
    const [a, b, c] = [vertices[i], vertices[j], vertices[k]];
    return cross(sub(b, a), sub(c, a));
  });
  const around = vertices.map(() => []);
  faces.forEach((face, f) => face.forEach((i) => around[i].push(f)));
  const [positions, normals, indices] = [[], [], []];
  faces.forEach((face, f) => {
    const own = unit(normal[f]);
    for (const i of face) {
      const like = around[i].filter((g) => dot(unit(normal[g]), own) > CREASE);
      // The longer a normal, the larger its triangle.
      const sum = like.reduce((sum, g) => add(sum, normal[g]), [0, 0, 0]);
      indices.push(positions.length / 3);
      positions.push(...vertices[i]);
      normals.push(...(like.length ? unit(sum) : own));
    }
  });
  return { positions, normals, indices };
}

/** Lists of three. */
const threes = (numbers) => Array.from({ length: numbers.length / 3 }, (_, i) => [...numbers.subarray(3 * i, 3 * i + 3)]);

/** Gives a scene's meshes their corners and triangles, which the page carries packed. */
export function unpack(scene) {
  for (const shape of scene.shapes.filter(({ kind }) => kind === "mesh")) {
    shape.vertices = threes(decode(shape.vertices));
    const places = bytes(shape.faces);
    shape.faces = threes(shape.vertices.length > 65536 ? new Uint32Array(places) : new Uint16Array(places));
  }
}

/** The mesh of a shape record; none for a half-space, which is drawn as a grid. `soft` where the processor draws. */
export function meshOf({ kind, sizes, vertices, faces }, soft) {
  const round = soft ? COARSE : ROUND;
  switch (kind) {
    case "sphere":
      return sphere(sizes[0], round);
    case "capsule":
      return capsule(sizes[0], sizes[1], round);
    case "cylinder":
      return cylinder(sizes[0], sizes[1], round);
    case "box":
      return roundedBox(sizes.slice(0, 3), sizes[3]);
    case "ellipsoid":
      return ellipsoid(sizes.slice(0, 3), round);
    case "hull":
      return hull(vertices, faces);
    case "mesh":
      return smooth(vertices, faces);
    default:
      return null;
  }
}
