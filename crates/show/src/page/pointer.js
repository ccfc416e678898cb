// Mouse, pen and fingers on the drawing.

/** A press that moves less than this is a click, pixels. */
const CLICK = 5;

/**
 * `act` has: grab(x, y) → true to take a drag for itself, pull(x, y), release(), orbit, pan, zoom, click(x, y), changed().
 */
export function listen(canvas, act) {
  const down = new Map();
  let [travel, grabbed, spread, middle] = [0, false, 0, null];

  const two = () => {
    const [a, b] = [...down.values()];
    return { spread: Math.hypot(a.x - b.x, a.y - b.y), middle: [(a.x + b.x) / 2, (a.y + b.y) / 2] };
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (down.size === 1) {
      travel = 0;
      grabbed = event.button === 0 && !event.shiftKey && act.grab(event.offsetX, event.offsetY);
    } else {
      if (grabbed) act.release();
      grabbed = false;
      travel = Infinity;
      ({ spread, middle } = two());
    }
    act.changed();
  });
  canvas.addEventListener("pointermove", (event) => {
    const last = down.get(event.pointerId);
    if (!last) return;
    const [x, y] = [event.offsetX, event.offsetY];
    const [dx, dy] = [x - last.x, y - last.y];
    down.set(event.pointerId, { x, y });
    travel += Math.hypot(dx, dy);
    if (down.size >= 2) {
      const next = two();
      act.zoom(spread / Math.max(1, next.spread), next.middle);
      act.pan(next.middle[0] - middle[0], next.middle[1] - middle[1]);
      ({ spread, middle } = next);
    } else if (grabbed) {
      act.pull(x, y);
    } else if (event.shiftKey || event.buttons & 6) {
      act.pan(dx, dy);
    } else {
      act.orbit(dx, dy);
    }
    act.changed();
  });
  const up = (event) => {
    if (!down.delete(event.pointerId)) return;
    if (grabbed) act.release();
    if (event.type === "pointerup" && travel < CLICK) act.click(event.offsetX, event.offsetY);
    grabbed = false;
    travel = Infinity;
    act.changed();
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      act.zoom(Math.exp(0.0014 * lines * event.deltaY), [event.offsetX, event.offsetY]);
      act.changed();
    },
    { passive: false },
  );
}
