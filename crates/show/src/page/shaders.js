// What runs on the graphics card.

const HEAD = `#version 300 es
precision highp float;
precision highp sampler2DShadow;
`;

/** Samples around the middle of a shadow's edge. */
const DISC = [
  [-0.94, -0.4], [0.95, -0.77], [-0.09, -0.93], [0.34, 0.29], [-0.92, 0.46], [-0.82, -0.88], [-0.38, 0.28], [0.97, 0.76],
  [0.44, -0.98], [0.54, -0.47], [-0.26, -0.42], [0.79, 0.19], [-0.24, 1.0], [-0.81, 0.91], [0.2, 0.79], [0.14, -0.14],
];

/** So many of them, one by one: a processor that draws takes long for loops. A single one is the middle. */
const samples = (taps) =>
  taps === 1
    ? "return texture(shadowMap, vec3(q.xy, q.z - 0.0006));"
    : `float angle = 6.2832 * fract(52.9829 * fract(dot(gl_FragCoord.xy, vec2(0.06711, 0.00584))));
  mat2 turn = mat2(cos(angle), sin(angle), -sin(angle), cos(angle));
  float lit = 0.0;
  ${DISC.slice(0, taps).map(([x, y]) => `lit += texture(shadowMap, vec3(q.xy + turn * vec2(${x.toFixed(2)}, ${y.toFixed(2)}) * spread, q.z - 0.0006));`).join("\n  ")}
  return lit / ${taps.toFixed(1)};`;

/** Light from the sun and the sky; colours are linear until they are displayed. */
const LIGHT = `
uniform vec3 eye, sun, sky, ground;
uniform float exposure;

vec3 display(vec3 c) {
  c *= exposure;
  c = (c * (2.51 * c + 0.03)) / (c * (2.43 * c + 0.59) + 0.14);
  return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2));
}
`;

/** Where a point is in the shadows' map, for vertices: shadows are flat over a triangle. */
const SHADOW = `
uniform mat4 shadowMatrix;
uniform float shadowTexel;

/** Away from the surface, by as much as the disc of samples reaches under a slope. */
vec3 inShadowMap(vec3 at, vec3 normal, float spread) {
  float away = (1.5 + 0.6 * spread / 0.0005 * (1.0 - 0.7 * max(dot(normal, sun), 0.0))) * shadowTexel;
  return (shadowMatrix * vec4(at + normal * away, 1.0)).xyz * 0.5 + 0.5;
}
`;

/** What of it a surface gives back. */
const shading = (taps) => `${LIGHT}
uniform sampler2DShadow shadowMap;

/** The part of the sun that reaches a place in the map: a disc of samples, turned differently at each pixel. */
float sunlight(vec3 q, float spread) {
  if (any(lessThan(q, vec3(0.0))) || any(greaterThan(q, vec3(1.0)))) return 1.0;
  ${samples(taps)}
}

float squared(float x) { return x * x; }

vec3 shade(vec3 base, vec3 at, vec3 q, vec3 normal, float gloss) {
  vec3 view = normalize(eye - at);
  float facing = max(dot(normal, sun), 0.0);
  float lit = facing > 0.0 ? sunlight(q, 0.003) : 0.0;
  vec3 ambient = mix(ground, sky, 0.5 + 0.5 * normal.z);
  // Light from behind the eye fills what the sun leaves dark.
  float fill = 0.22 * max(dot(normal, view), 0.0);
  vec3 halfway = normalize(sun + view);
  float shine = squared(squared(squared(squared(max(dot(normal, halfway), 0.0)))));
  shine *= shine * shine * lit;
  float rim = squared(squared(1.0 - max(dot(normal, view), 0.0)));
  return base * (ambient + fill + 2.1 * facing * lit) + gloss * (0.45 * shine + 0.25 * rim * sky);
}
`;

const solid = (taps) => ({
  vertex: `${HEAD}${LIGHT}${SHADOW}
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
uniform mat4 model, camera;
uniform vec3 stretch;
out vec3 at, n, q;
void main() {
  vec4 p = model * vec4(position * stretch, 1.0);
  at = p.xyz;
  n = normalize(mat3(model) * (normal / stretch));
  q = inShadowMap(at, n, 0.003);
  gl_Position = camera * p;
}`,
  fragment: `${HEAD}${shading(taps)}
in vec3 at, n, q;
uniform vec4 colour;
uniform float gloss, glow, flat_;
out vec4 pixel;
void main() {
  // A colour that means a number is what the scale shows.
  if (flat_ > 1.5) {
    pixel = vec4(colour.rgb * colour.a, colour.a);
    return;
  }
  vec3 normal = normalize(gl_FrontFacing ? n : -n);
  vec3 c = flat_ > 0.5 ? colour.rgb * 1.6 : shade(colour.rgb, at, q, normal, gloss);
  float rim = squared(1.0 - abs(dot(normal, normalize(eye - at))));
  c += glow * (0.06 + 0.7 * rim) * vec3(0.25, 0.55, 1.0);
  float alpha = colour.a < 1.0 ? min(1.0, colour.a * (1.0 + 1.2 * rim)) : 1.0;
  pixel = vec4(display(c) * alpha, alpha);
}`,
});

/** Depth as the sun sees it. */
const depth = {
  vertex: `${HEAD}
layout(location = 0) in vec3 position;
uniform mat4 model, camera;
uniform vec3 stretch;
void main() { gl_Position = camera * model * vec4(position * stretch, 1.0); }`,
  fragment: `${HEAD}
void main() {}`,
};

/** A plane with lines every `spacing`, stronger every ten, that ends in the background. */
const grid = (taps) => ({
  vertex: `${HEAD}${LIGHT}${SHADOW}
layout(location = 0) in vec3 position;
uniform mat4 model, camera;
uniform vec2 centre;
uniform float reach;
uniform vec3 normal, base, line;
out vec3 q;
out vec2 place;
// The plane's two colours in the sun and in the shade: the same everywhere, and dear.
flat out vec3 sunny[2], shady[2];
void main() {
  place = centre + position.xy * reach;
  vec4 p = model * vec4(place, 0.0, 1.0);
  q = inShadowMap(p.xyz, normal, 0.006);
  gl_Position = camera * p;
  float facing = max(dot(dot(normal, eye - p.xyz) > 0.0 ? normal : -normal, sun), 0.0);
  vec3 ambient = 0.62 * mix(ground, sky, 0.75);
  sunny = vec3[2](display(base * (ambient + 1.05 * facing)), display(line * (ambient + 1.05 * facing)));
  shady = vec3[2](display(base * ambient), display(line * ambient));
}`,
  fragment: `${HEAD}${shading(taps)}
in vec3 q;
in vec2 place;
flat in vec3 sunny[2], shady[2];
uniform float spacing, opacity, fine;
uniform vec2 centre;
uniform float reach;
out vec4 pixel;
float lines(vec2 wide, float step_, float width) {
  vec2 p = place / step_, w = wide / step_;
  vec2 d = abs(fract(p - 0.5) - 0.5);
  vec2 on = (1.0 - smoothstep(w * width * 0.5, w * (width * 0.5 + 1.0), d)) * clamp(1.4 - 3.5 * w, 0.0, 1.0);
  return fine * max(on.x, on.y);
}
void main() {
  float lit = gl_FrontFacing ? sunlight(q, 0.006) : 0.4;
  vec2 wide = fwidth(place);
  float grid_ = max(0.3 * lines(wide, spacing, 0.3), lines(wide, 10.0 * spacing, 0.6));
  vec3 c = mix(mix(shady[0], sunny[0], lit), mix(shady[1], sunny[1], lit), grid_);
  float far = length(place - centre) / reach;
  float alpha = opacity * (1.0 - smoothstep(0.35, 1.0, far)) * (gl_FrontFacing ? 1.0 : 0.08);
  pixel = vec4(c * alpha, alpha);
}`,
});

/** Lines of a width in pixels: each segment is a rectangle on the screen. */
const ribbon = {
  vertex: `${HEAD}
layout(location = 0) in vec2 corner;
layout(location = 1) in vec4 from;
layout(location = 2) in vec4 to;
uniform mat4 camera;
uniform vec2 viewport;
uniform float width;
uniform vec4 colour;
out vec4 paint;
void main() {
  vec4 a = camera * vec4(from.xyz, 1.0), b = camera * vec4(to.xyz, 1.0);
  vec2 along = (b.xy / b.w - a.xy / a.w) * viewport;
  float size = length(along);
  vec2 side = size > 1e-6 ? vec2(-along.y, along.x) / size : vec2(0.0);
  vec4 p = mix(a, b, corner.x);
  p.xy += side * corner.y * width / viewport * p.w;
  p.z -= 2e-4 * p.w;
  float seen = colour.a * mix(from.w, to.w, corner.x);
  paint = vec4(pow(colour.rgb, vec3(1.0 / 2.2)) * seen, seen);
  gl_Position = p;
}`,
  fragment: `${HEAD}
in vec4 paint;
out vec4 pixel;
void main() { pixel = paint; }`,
};

/** The background: a soft gradient from the horizon up, on a sheet of many squares. */
const backdrop = {
  vertex: `${HEAD}
layout(location = 0) in vec3 position;
uniform vec3 low, high;
out vec3 colour;
void main() {
  float r = length(position.xy * vec2(0.75, 0.9) - vec2(0.0, 0.12));
  colour = mix(high, low, smoothstep(0.05, 1.35, r));
  gl_Position = vec4(position.xy, 0.9999, 1.0);
}`,
  fragment: `${HEAD}
in vec3 colour;
out vec4 pixel;
void main() { pixel = vec4(colour, 1.0); }`,
};

/** All programs' texts, with so many samples of the shadows' edges. */
export const shaders = (taps) => ({ solid: solid(taps), depth, grid: grid(taps), ribbon, backdrop });
