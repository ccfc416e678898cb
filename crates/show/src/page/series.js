// Everything that can be plotted, by name.

import { pairsOf } from "fingertip/names";

/** Units of scalars on the screen, and what turns the recording's into them. */
const UNITS = {
  gap: ["mm", 1e3], "position error": ["mm", 1e3], "rotation error": ["°", 180 / Math.PI], "joint error": ["rad, m", 1], "planning time": ["ms", 1e3],
};
/** Lines that are plotted together, at most. */
const FEW = 6;

/** A list of { id, name, group, unit, at(frame) }. */
export function allSeries(header, track, names) {
  const { scene, layout } = header;
  const list = [];
  const column = (group, name, unit, place, factor = 1, more = {}) =>
    list.push({ id: `${group}:${name}`, name, group, unit, at: (frame) => factor * track.number(frame, place), ...more });

  header.scalars.forEach((name, i) => {
    const [unit, factor] = UNITS[name] ?? (name.startsWith("force") ? ["N", 1] : ["", 1]);
    column("Scalars", name, unit, layout.scalars + i, factor);
  });
  for (const { a, b, name, contacts } of pairsOf(scene, names)) {
    const together = (frame) => track.together(frame, contacts);
    list.push({ id: `Contact force:${name}`, name, group: "Contact force", unit: "N", at: (frame) => Math.hypot(...together(frame).force) });
    list.push({ id: `Distance:${name}`, name, group: "Distance", unit: "mm", pair: { a, b }, at: (frame) => 1e3 * together(frame).gap });
    if (contacts.length === 1) continue;
    for (const i of contacts) {
      const of = `${name} #${i}`;
      list.push({ id: `One contact's force:${of}`, name: of, group: "One contact's force", unit: "N", at: (frame) => track.force(frame, i) });
      list.push({ id: `One contact's distance:${of}`, name: of, group: "One contact's distance", unit: "mm", at: (frame) => 1e3 * track.gap(frame, i) });
    }
  }
  let first = 0;
  for (const { name, points } of scene.taxels ?? []) {
    const [begin, end] = [first, (first += points.length)];
    const on = ({ taxel }) => taxel >= begin && taxel < end;
    const sum = (frame) => track.pressed(frame).filter(on).reduce((sum, { force }) => sum + force, 0);
    list.push({ id: `Taxels:${name}`, name, group: "Taxels", unit: "N", at: sum });
  }
  scene.bodies.forEach((body, i) => {
    if (body.role !== "object" && !header.tips.includes(i)) return;
    const object = body.role === "object";
    ["x", "y", "z"].forEach((axis, k) => {
      column("Position", `${names[i]} ${axis}`, "mm", layout.poses + 7 * i + k, 1e3, { object });
    });
  });
  scene.q_names.forEach((name, i) => column("q", name, "", layout.q + i));
  scene.u_names.forEach((name, i) => column("u", name, "", layout.u + i));
  column("Solver", "iterations", "", layout.iterations);
  column("Solver", "residual", "", layout.residual);
  column("Solver", "time of a step", "µs", layout.seconds, 1e6);
  return list;
}

/** The distances at a frame that are shortest, of a body if one is selected. */
export function nearest(list, frame, body) {
  const of = ({ group, pair }) => group === "Distance" && (!(body > 0) || pair.a === body || pair.b === body);
  const near = list.filter(of).map((s) => [s, s.at(frame)]).filter(([, distance]) => Number.isFinite(distance));
  return near.sort((a, b) => a[1] - b[1]).slice(0, FEW).map(([s]) => s);
}

/** What is plotted at first: of a task its cost and errors; the contact forces that matter; and how the objects move. */
export function firstPlots(list, track, live, robots) {
  const sample = (series, value) => {
    let [low, high] = [Infinity, -Infinity];
    const stride = Math.max(1, Math.floor(track.length / 400));
    for (let frame = Math.min(1, track.length - 1); frame >= 0 && frame < track.length; frame += stride) {
      const x = series.at(frame);
      if (Number.isFinite(x)) [low, high] = [Math.min(low, x), Math.max(high, x)];
    }
    return value(low, high);
  };
  const forces = list.filter((s) => s.group === "Contact force");
  const most = new Map(forces.map((s) => [s, sample(s, (_, high) => high)]));
  const largest = Math.max(0, ...most.values());
  // On a live page everything is still to come.
  const strong = forces.filter((s) => live || most.get(s) > 0.02 * largest || largest <= 0);
  strong.sort((a, b) => most.get(b) - most.get(a));
  // Objects before the bodies that touch them.
  const objects = list.filter((s) => s.group === "Position" && s.object);
  const paths = objects.length ? objects : list.filter((s) => s.group === "Position");
  const farthest = (all, least) => {
    const travel = new Map(all.map((s) => [s, sample(s, (low, high) => high - low)]));
    return all.filter((s) => travel.get(s) > least).sort((a, b) => travel.get(b) - travel.get(a));
  };
  const moving = farthest(paths, 1);
  const force = { title: "Contact force", series: strong.slice(0, FEW) };
  const position = { title: "Position", series: (moving.length ? moving : paths).slice(0, 3) };
  // Where nothing can touch, what moves are joints.
  if (!paths.length) Object.assign(position, { title: "Joints", series: farthest(list.filter((s) => s.group === "q"), 0).slice(0, FEW) });
  const named = (...names) => names.flatMap((name) => list.filter((s) => s.group === "Scalars" && s.name === name));
  const [cost, errors] = [named("cost"), named("position error", "rotation error", "joint error")];
  const plots = cost.length ? [{ title: "Cost of the plan", series: cost }, { title: "To the goal", series: errors }, force] : [force, position];
  if (!robots && !cost.length) plots.push({ title: "Distance", series: nearest(list, track.length - 1, 0), nearest: true });
  return plots.filter((plot) => plot.series.length || plot.nearest);
}
