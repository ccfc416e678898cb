// What there is to say about the body that is selected, or about all contacts.

import { digits, pairsOf } from "fingertip/names";
import { norm } from "fingertip/vec";

const MOST_CONTACTS = 8;
/** Pairs in the table of all contacts, at most. */
const MOST_PAIRS = 64;
/** Forces below this are none, N. */
const LEAST = 1e-4;

export class Inspector {
  constructor(element, header, track, names) {
    Object.assign(this, { element, scene: header.scene, track, names });
    this.pairs = pairsOf(header.scene, names);
    /** Are all contacts listed where no body is selected? */
    this.all = false;
  }

  show(body, frame) {
    this.element.hidden = !(body > 0 || this.all) || !this.track.length;
    this.element.classList.toggle("all", !(body > 0));
    if (this.element.hidden) return;
    if (!(body > 0)) return this.list(frame);
    const { p, q } = this.track.pose(frame, body);
    const { name, role } = this.scene.bodies[body];
    const object = this.scene.objects.find((o) => o.body === body);
    const angle = 2 * Math.acos(Math.min(1, Math.abs(q[0])));
    const rows = [
      ["position", `${p.map((x) => digits(1e3 * x, 3)).join(", ")} mm`],
      ["turned by", `${digits((angle * 180) / Math.PI, 3)}°`],
    ];
    if (object) rows.unshift(["mass", `${digits(object.mass, 3)} kg`]);
    const touching = this.strongest(frame).filter(({ a, b, size }) => (a === body || b === body) && size > LEAST);
    const contacts = touching.slice(0, MOST_CONTACTS).map(({ a, b, size, gap }) => {
      return [this.names[a === body ? b : a], `${digits(size, 3)} N`, `${digits(1e3 * gap, 3)} mm`];
    });
    this.element.replaceChildren(
      heading(name, role),
      table(rows),
      ...(contacts.length ? [table([["touches", "force", "gap"], ...contacts], true)] : [note("touches nothing")]),
    );
  }

  /** Every pair with the size of its force and its least gap: the strongest first, then the nearest. */
  strongest(frame) {
    const all = this.pairs.map((pair) => {
      const { force, gap } = this.track.together(frame, pair.contacts);
      return { ...pair, size: norm(force), gap };
    });
    const far = ({ gap }) => (Number.isFinite(gap) ? gap : Infinity);
    return all.sort((x, y) => (Math.max(x.size, y.size) > LEAST ? y.size - x.size : far(x) - far(y)));
  }

  /** The table of all contacts. */
  list(frame) {
    const known = this.strongest(frame).filter(({ size, gap }) => size > LEAST || Number.isFinite(gap));
    const rows = known.slice(0, MOST_PAIRS).map(({ name, contacts, size, gap }) => {
      return [name, String(contacts.length), size > LEAST ? `${digits(size, 3)} N` : "–", `${digits(1e3 * gap, 3)} mm`];
    });
    const left = known.length - rows.length;
    this.element.replaceChildren(
      heading("Contacts", `${this.scene.contacts.length} in ${this.pairs.length} pairs`),
      table([["pair", "points", "force", "gap"], ...rows], true),
      ...(left > 0 ? [note(`and ${left} pairs that are farther apart`)] : []),
    );
  }
}

function heading(name, role) {
  const title = document.createElement("h2");
  const small = document.createElement("small");
  small.textContent = role;
  title.append(name, small);
  return title;
}

function note(text) {
  const p = document.createElement("p");
  p.textContent = text;
  return p;
}

function table(rows, head = false) {
  const made = document.createElement("table");
  rows.forEach((cells, i) => {
    const row = made.insertRow();
    for (const text of cells) {
      const cell = document.createElement(head && i === 0 ? "th" : "td");
      cell.textContent = text;
      row.append(cell);
    }
  });
  return made;
}
