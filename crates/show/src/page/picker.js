// The list of everything that can be plotted.

export class Picker {
  constructor(dialog, list) {
    this.dialog = dialog;
    this.list = list;
    this.search = dialog.querySelector("input");
    this.body = dialog.querySelector("div");
    this.search.addEventListener("input", () => this.fill());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }

  /** Lets somebody choose the lines of a plot. */
  open(plot) {
    this.plot = plot;
    this.search.value = "";
    this.fill();
    this.dialog.showModal();
  }

  fill() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (s) => words.every((word) => `${s.group} ${s.name}`.toLowerCase().includes(word));
    const groups = Map.groupBy ? Map.groupBy(this.list.filter(fits), (s) => s.group) : group(this.list.filter(fits));
    this.body.replaceChildren(...[...groups].map(([name, series]) => this.section(name, series)));
  }

  section(name, list) {
    const section = document.createElement("section");
    const title = document.createElement("h3");
    title.textContent = name;
    section.append(title);
    for (const series of list) {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = this.plot.series.includes(series);
      box.addEventListener("change", () => {
        this.plot.nearest = false;
        const others = this.plot.series.filter((s) => s !== series);
        this.plot.set(box.checked ? [...others, series] : others);
      });
      label.append(box, series.name);
      section.append(label);
    }
    return section;
  }
}

function group(list) {
  const groups = new Map();
  for (const series of list) groups.set(series.group, [...(groups.get(series.group) ?? []), series]);
  return groups;
}
