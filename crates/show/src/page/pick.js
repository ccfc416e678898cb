// What is under the pointer.

import { add, cross, dot, scale, sub } from "fingertip/vec";

/** A point of the world in the axes of a rigid matrix. */
function inside(m, v, w) {
  const d = w ? sub(v, [m[12], m[13], m[14]]) : v;
  return [0, 4, 8].map((c) => m[c] * d[0] + m[c + 1] * d[1] + m[c + 2] * d[2]);
}

/** Distance along the ray to a triangle (Möller and Trumbore), or Infinity. */
function hit(from, along, a, b, c) {
  const [u, v] = [sub(b, a), sub(c, a)];
  const p = cross(along, v);
  const det = dot(u, p);
  if (Math.abs(det) < 1e-15) return Infinity;
  const t = sub(from, a);
  const x = dot(t, p) / det;
  const q = cross(t, u);
  const y = dot(along, q) / det;
  const distance = dot(v, q) / det;
  return x >= 0 && y >= 0 && x + y <= 1 && distance > 0 ? distance : Infinity;
}

/** The nearest part on a ray: { part, point, distance }, or null. `place(part)` is where it is. */
export function pick(parts, place, { from, along }) {
  let best = null;
  for (const part of parts) {
    const matrix = place(part);
    const [o, d] = [inside(matrix, from, true), inside(matrix, along, false)];
    const { positions, indices } = part.mesh;
    const corner = (i) => positions.slice(3 * indices[i], 3 * indices[i] + 3);
    for (let i = 0; i < indices.length; i += 3) {
      const distance = hit(o, d, corner(i), corner(i + 1), corner(i + 2));
      if (distance < (best?.distance ?? Infinity)) best = { part, distance };
    }
  }
  return best && { ...best, point: add(from, scale(along, best.distance)) };
}
