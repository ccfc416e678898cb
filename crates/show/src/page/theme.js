// Colours, by light and by dark. Those of the drawing are linear; those of plots are CSS.

const linear = (hex) => [1, 3, 5].map((i) => (parseInt(hex.slice(i, i + 2), 16) / 255) ** 2.2);
const display = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);

export const PAINT = {
  objects: ["#17978a", "#d9793a", "#b8557a", "#6f7fd0", "#a3a23c", "#8a6f5a"].map(linear),
  robot: linear("#aeb6c2"),
  fixed: linear("#c9ccd1"),
  pad: linear("#4f8fe8"),
  force: linear("#e5352b"),
  normal: linear("#2f6fde"),
  cone: linear("#f0b429"),
  trail: linear("#17978a"),
  goal: linear("#35b36b"),
  plan: linear("#8b5cf6"),
  tangent: linear("#8c95a3"),
  pull: linear("#ffb020"),
  measure: linear("#e0218a"),
};

/** Colours of what is felt, from nothing to much. */
export const HEAT = ["#0d0829", "#56106e", "#bb3754", "#f98c0a", "#fcffa4"];

/** The colour of a part from 0 to 1, as it is displayed. */
export function heat(part) {
  const at = Math.min(1, Math.max(0, part)) * (HEAT.length - 1);
  const i = Math.min(Math.floor(at), HEAT.length - 2);
  const [low, high] = [display(HEAT[i]), display(HEAT[i + 1])];
  return low.map((c, k) => c + (at - i) * (high[k] - c));
}

const LIGHT = {
  name: "light",
  low: display("#d5dae2"),
  high: display("#f8f9fb"),
  base: linear("#f1f2f4"),
  line: linear("#c3c9d2"),
  sky: [0.86, 0.9, 0.98],
  ground: [0.42, 0.4, 0.38],
  exposure: 0.62,
  lines: ["#2f6fde", "#e07a1f", "#149a72", "#c2357c", "#7a52d1", "#a98600", "#0b94b8", "#8a5a44"],
};

const DARK = {
  name: "dark",
  low: display("#0c0f14"),
  high: display("#222934"),
  base: linear("#333b47"),
  line: linear("#566172"),
  sky: [0.42, 0.47, 0.56],
  ground: [0.16, 0.15, 0.15],
  exposure: 0.66,
  lines: ["#6ea8ff", "#ff9f45", "#3fd1a0", "#ff6fb0", "#ab8cff", "#e0c040", "#45c8ea", "#d09a80"],
};

export class Theme {
  constructor() {
    let kept = null;
    try {
      kept = localStorage.getItem("fingertip-theme");
    } catch {
      // A page from a disk may have no storage.
    }
    const dark = kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.set(dark ? DARK : LIGHT);
  }

  set(colours) {
    this.colours = colours;
    document.documentElement.dataset.theme = colours.name;
  }

  toggle() {
    this.set(this.colours === DARK ? LIGHT : DARK);
    try {
      localStorage.setItem("fingertip-theme", this.colours.name);
    } catch {
      // Then it lasts as long as the page.
    }
  }
}
