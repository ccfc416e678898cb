// The view in the address: what comes after #, so that a link shows the same.

/** The address follows what is seen after so much rest, ms. */
const REST = 400;

const brief = (x) => String(Number(x.toPrecision(5)));

export class Address {
  constructor(page) {
    this.page = page;
    addEventListener("hashchange", () => location.hash !== this.written && this.read());
    this.read();
  }

  /** The view as text: camera, time, what is shown, what is selected. */
  text() {
    const { camera, show, selected, header, live, player, track } = this.page;
    const { target, yaw, pitch, distance } = camera.goal;
    const parts = [camera.named ? `view=${camera.named}` : `camera=${[yaw, pitch, distance, ...target].map(brief).join()}`];
    if (!live) parts.push(`t=${brief(track.time(player.frame))}`);
    const changed = Object.keys(show).filter((name) => show[name] !== this.page.shown[name]);
    if (changed.length) parts.push(`show=${changed.map((name) => `${show[name] ? "" : "-"}${name}`).join()}`);
    if (selected > 0) parts.push(`body=${encodeURIComponent(header.scene.bodies[selected].name)}`);
    return `#${parts.join("&")}`;
  }

  /** Goes where the address says; what it does not say, or what is wrong in it, stays. */
  read() {
    const { page } = this;
    const given = new URLSearchParams(location.hash.slice(1));
    const numbers = (given.get("camera") ?? "").split(",").map(Number);
    if (numbers.length === 6 && numbers.every(Number.isFinite) && numbers[2] > 0) {
      const [yaw, pitch, distance, ...target] = numbers;
      page.camera.at({ yaw, pitch, distance, target });
    } else if (given.has("view")) {
      page.camera.preset(given.get("view"));
    }
    const time = Number(given.get("t") ?? NaN);
    if (Number.isFinite(time) && !page.live) {
      page.player.playing = false;
      page.seek(page.track.at(time));
    }
    for (const name of (given.get("show") ?? "").split(",")) {
      const bare = name.replace(/^-/, "");
      if (bare in page.show && page.show[bare] !== (name === bare)) page.toggle(bare);
    }
    const body = page.header.scene.bodies.findIndex(({ name }) => name === given.get("body"));
    if (body > 0) page.selected = body;
    page.refresh();
  }

  /** Something has changed: the address follows when nothing does any more. */
  changed() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.write(), REST);
  }

  write() {
    if (this.page.player.playing && !this.page.live) return;
    const text = this.text();
    if (text === this.written) return;
    this.written = text;
    try {
      history.replaceState(null, "", text);
    } catch {
      // A page inside another one has no address of its own.
    }
  }
}
