// Vectors, quaternions (w, x, y, z) and 4 × 4 matrices (column by column).

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const mix = (a, b, t) => add(scale(a, 1 - t), scale(b, t));
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const norm = (a) => Math.hypot(a[0], a[1], a[2]);
export const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const unit = (a) => {
  const n = norm(a);
  return n > 0 ? scale(a, 1 / n) : [0, 0, 1];
};

/** v turned by the unit quaternion q. */
export function turn([w, x, y, z], v) {
  const t = scale(cross([x, y, z], v), 2);
  return add(add(v, scale(t, w)), cross([x, y, z], t));
}

/** The quaternion that takes the z axis to the direction d. */
export function fromZ(d) {
  const [x, y, z] = unit(d);
  if (z < -0.999999) return [0, 1, 0, 0];
  const w = Math.sqrt((1 + z) / 2);
  return [w, -y / (2 * w), x / (2 * w), 0];
}

/** The tangents t₁ and t₂ = n × t₁ of a contact's frame, as the step has them (Duff et al. 2017). */
export function tangents([x, y, z]) {
  const side = z >= 0 ? 1 : -1;
  const a = -1 / (side + z);
  const b = a * x * y;
  return [[1 + side * a * x * x, side * b, -side * x], [b, side + a * y * y, -y]];
}

/** Position p, orientation q, then stretched along its own axes by s. */
export function pose(p, q, s = [1, 1, 1]) {
  const columns = [[s[0], 0, 0], [0, s[1], 0], [0, 0, s[2]]].map((axis) => turn(q, axis));
  return new Float32Array([...columns[0], 0, ...columns[1], 0, ...columns[2], 0, ...p, 1]);
}

export function times(a, b) {
  const c = new Float32Array(16);
  for (let column = 0; column < 4; column++) {
    for (let row = 0; row < 4; row++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + row] * b[4 * column + k];
      c[4 * column + row] = sum;
    }
  }
  return c;
}

/** The point m · (p, 1) with its fourth component. */
export function apply(m, [x, y, z]) {
  return [0, 1, 2, 3].map((row) => m[row] * x + m[4 + row] * y + m[8 + row] * z + m[12 + row]);
}

export function perspective(fovy, aspect, near, far) {
  const f = 1 / Math.tan(fovy / 2);
  const m = new Float32Array(16);
  m[0] = f / aspect;
  m[5] = f;
  m[10] = (far + near) / (near - far);
  m[11] = -1;
  m[14] = (2 * far * near) / (near - far);
  return m;
}

export function orthographic(half, near, far) {
  const m = new Float32Array(16);
  m[0] = m[5] = 1 / half;
  m[10] = 2 / (near - far);
  m[14] = (far + near) / (near - far);
  m[15] = 1;
  return m;
}

/** World to a camera at `eye` that looks at `target`. */
export function lookAt(eye, target, up) {
  const z = unit(sub(eye, target));
  const x = unit(cross(up, z));
  const y = cross(z, x);
  return new Float32Array([
    x[0], y[0], z[0], 0,
    x[1], y[1], z[1], 0,
    x[2], y[2], z[2], 0,
    -dot(x, eye), -dot(y, eye), -dot(z, eye), 1,
  ]);
}
