// A task's panel on a live page: which episode runs, how far it is, how the planning goes.

import { digits } from "fingertip/names";

export class Task {
  constructor(page, live, element) {
    Object.assign(this, { page, live, element });
    this.about = live.header.live.task;
    this.episode = 0;
    element.hidden = false;
    const title = document.createElement("h2");
    title.textContent = this.about.title;
    this.lines = document.createElement("dl");
    const buttons = document.createElement("p");
    buttons.className = "buttons";
    buttons.append(
      this.button("Next episode", "From its start, to its goal (E)", "episode"),
      this.button("Next goal", "From where everything is (V)", "goal"),
    );
    element.replaceChildren(title, this.lines, buttons);
  }

  button(text, title, kind) {
    const button = Object.assign(document.createElement("button"), { textContent: text, title });
    button.addEventListener("click", () => this.next(kind));
    return button;
  }

  /** Asks for the next "episode" or "goal". */
  next(kind) {
    this.live.send({ [kind]: this.episode + 1 });
  }

  /** What the simulator says of the episode. */
  hear(state, driven) {
    this.episode = state.episode;
    this.page.view.ghosts.goals = state.goals;
    const { n_goals: n } = this.about;
    const off = ({ position, rotation, joints }) => [
      position === null ? null : `${digits(1e3 * position, 3)} mm`,
      rotation === null ? null : `${digits((180 / Math.PI) * rotation, 3)}°`,
      joints === null ? null : `joints ${digits(joints, 3)} rad or m`,
    ].filter(Boolean).join(", ");
    const last = state.errors.length - 1;
    const planning = state.seconds === null ? "…" : `${digits(1e3 * state.seconds, 3)} of ${digits(1e3 * state.period, 3)} ms, ${state.outcome}`;
    const rows = [
      ["episode", `${state.episode + 1}${n ? ` (goal ${(state.episode % n) + 1} of ${n})` : ""}`],
      ...state.errors.map((errors, i) => [errors.object, `${off(errors)} from its goal${state.there && i === last ? " ✓" : ""}`, "error"]),
      ["planning", driven ? planning : "you have the joints"],
    ];
    this.lines.replaceChildren(...rows.flatMap(([name, text, kind = ""]) => [cell("dt", name), cell("dd", text, kind)]));
    this.element.classList.toggle("there", state.there);
  }
}

function cell(kind, text, className = "") {
  const made = document.createElement(kind);
  Object.assign(made, { textContent: text, className });
  return made;
}
