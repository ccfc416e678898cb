// What there is to say about the body that is selected.

import { digits } from "fingertip/names";
import { norm } from "fingertip/vec";

const MOST_CONTACTS = 8;

export class Inspector {
  constructor(element, header, track, names) {
    Object.assign(this, { element, scene: header.scene, track, names });
  }

  show(body, frame) {
    this.element.hidden = !(body > 0) || !this.track.length;
    if (this.element.hidden) return;
    const { p, q } = this.track.pose(frame, body);
    const { name, role } = this.scene.bodies[body];
    const object = this.scene.objects.find((o) => o.body === body);
    const angle = 2 * Math.acos(Math.min(1, Math.abs(q[0])));
    const rows = [
      ["position", `${p.map((x) => digits(1e3 * x, 3)).join(", ")} mm`],
      ["turned by", `${digits((angle * 180) / Math.PI, 3)}°`],
    ];
    if (object) rows.unshift(["mass", `${digits(object.mass, 3)} kg`]);
    const touching = this.scene.contacts
      .map((pair, i) => ({ pair, ...this.track.contact(frame, i) }))
      .filter(({ pair, force }) => (pair.a === body || pair.b === body) && norm(force) > 1e-4)
      .sort((a, b) => norm(b.force) - norm(a.force));
    const contacts = touching.slice(0, MOST_CONTACTS).map(({ pair, phi, force }) => {
      const other = pair.a === body ? pair.b : pair.a;
      return [this.names[other], `${digits(norm(force), 3)} N`, `${digits(1e3 * phi, 3)} mm`];
    });
    this.element.replaceChildren(
      heading(name, role),
      table(rows),
      ...(contacts.length ? [table([["touches", "force", "gap"], ...contacts], true)] : [note("touches nothing")]),
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
