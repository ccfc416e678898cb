// Names that are short enough for a screen.

/** For each body, its name without what all bodies of its thing that touch have in common. */
export function shortNames(scene) {
  const touching = new Set(scene.contacts.flatMap(({ a, b }) => [a, b]));
  const owner = (name) => name.split("/")[0];
  return scene.bodies.map(({ name }, body) => {
    const family = [...touching].map((i) => scene.bodies[i].name).filter((n) => n !== name && owner(n) === owner(name));
    if (!touching.has(body) || !family.length) return name.includes("/") ? name.slice(owner(name).length + 1) : name;
    const common = (other) => {
      let n = 0;
      while (n < name.length && name[n] === other[n]) n++;
      return n;
    };
    // What is left begins after a mark: "tip0" of "tips/tip0" beside "tips/tip1".
    const shared = name.slice(0, Math.min(...family.map(common)));
    return name.slice(Math.max(...[..."/_-."].map((mark) => shared.lastIndexOf(mark))) + 1) || name;
  });
}

/** A number for people, with so many digits that count. */
export function digits(x, n = 4) {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size < 1e-4 || size >= 1e6) return x.toExponential(2).replace("-", "−");
  return x.toFixed(Math.max(0, Math.min(5, n - 1 - Math.floor(Math.log10(size))))).replace("-", "−");
}

/** The contacts of each two bodies that may touch: { a, b, name, contacts }, where a acts on b. */
export function pairsOf(scene, names) {
  const pairs = new Map();
  scene.contacts.forEach(({ a, b }, i) => {
    const key = `${a} ${b}`;
    if (!pairs.has(key)) pairs.set(key, { a, b, name: `${names[a]} on ${names[b]}`, contacts: [] });
    pairs.get(key).contacts.push(i);
  });
  return [...pairs.values()];
}
