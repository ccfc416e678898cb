// The keyboard.

/** `act` holds an action for each name below; keys in fields that take text are theirs. */
export function listenKeys(act) {
  const keys = {
    " ": act.play, ArrowLeft: () => act.step(-1), ArrowRight: () => act.step(1), Home: () => act.seek(0),
    End: () => act.seek(Infinity), "[": () => act.faster(-1), "]": () => act.faster(1), l: act.loop, f: act.follow,
    1: () => act.view("home"), 2: () => act.view("front"), 3: () => act.view("side"), 4: () => act.view("top"),
    c: () => act.toggle("forces"), n: () => act.toggle("contacts"), m: () => act.toggle("distances"), x: () => act.toggle("cones"),
    a: () => act.toggle("patches"), g: () => act.toggle("plan"), e: act.episode, v: act.goal,
    t: () => act.toggle("trails"), h: () => act.toggle("taxels"), s: () => act.toggle("collisions"), p: act.charts, k: act.contacts, o: act.options, d: act.theme, r: act.reset, u: act.measure, w: act.film, b: act.record, "?": act.help,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest?.("input, select, dialog");
    if (field && !(field.id === "scrub" && event.key === " ")) return;
    const action = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
