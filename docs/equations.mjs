// Makes src/equations.md, the equations as MathML for the crate's front page, which browsers draw without scripts. Their only source is
// docs/equations.md, which GitHub draws by itself. With Node.js, in a clone:
//
//     npm install --no-save katex@0.16 && node docs/equations.mjs
//
// The test `first_program` compares both files.

import { readFileSync, writeFileSync } from "node:fs";
import katex from "katex";

const FONTS = "Cambria Math, STIX Two Math, Latin Modern Math, STIXMath, math";

const source = readFileSync("docs/equations.md", "utf8").replace(/^# .*\n+/, "");
const made = source.replace(/```math\n([^]*?)\n```/g, (_, tex) => {
  const html = katex.renderToString(tex, { displayMode: true, output: "mathml", throwOnError: true });
  const math = html.replace(/^<span class="katex">|<\/span>$/g, "");
  const styled = math.replace("<math ", `<math style="font-family: ${FONTS}" `).replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "");
  return `<div style="padding: 0.6em 0">${styled}</div>`;
});
writeFileSync("src/equations.md", made);
