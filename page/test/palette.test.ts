import assert from "node:assert/strict";
import { test } from "node:test";
import { css, luminance, oklch, type Rgb } from "../src/color";
import { FAMILIES, MIN_CONTRAST, MIN_DELTA_E, MIN_DELTA_E_CVD, MIN_LUMINANCE_STEP, phaseColor, phaseRank, SEGMENTS } from "../src/palette";
import { ciede2000, difference } from "./vision";

const legend = SEGMENTS.flatMap((s) => FAMILIES[s].phases.map((p) => ({ name: `${s} ${p}`, segment: s, color: phaseColor(s, p) })));

test("OKLCH gives the colours that are known", () => {
  assert.equal(css(oklch(1, 0, 0)), "#ffffff");
  assert.equal(css(oklch(0, 0, 0)), "#000000");
  assert.equal(css(oklch(0.62796, 0.25768, 29.234)), "#ff0000");
  assert.equal(css(oklch(0.5999, 0, 0)), "#808080");
});

test("CIEDE2000 gives the values of its paper", () => {
  assert.ok(Math.abs(ciede2000([50, 2.6772, -79.7751], [50, 0, -82.7485]) - 2.0425) < 1e-4);
  assert.ok(Math.abs(ciede2000([50, 2.5, 0], [73, 25, -18]) - 27.1492) < 1e-4);
  assert.ok(Math.abs(ciede2000([2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514]) - 0.9082) < 1e-4);
});

test("inside a family luminance falls, by a step at least", () => {
  for (const name of SEGMENTS) {
    const steps = FAMILIES[name].phases.map((p) => luminance(phaseColor(name, p)));
    for (let i = 1; i < steps.length; i++)
      assert.ok(steps[i - 1] - steps[i] >= MIN_LUMINANCE_STEP, `${name} ${FAMILIES[name].phases[i]}: ${steps[i - 1] - steps[i]}`);
  }
});

test("neighbours in a legend are told apart", () => {
  for (let i = 1; i < legend.length; i++) {
    const [a, b] = [legend[i - 1], legend[i]];
    const least: [string, number][] = [["none", MIN_DELTA_E], ["deuteranopia", MIN_DELTA_E_CVD], ["protanopia", MIN_DELTA_E_CVD]];
    for (const [eyes, bound] of least) {
      const d = difference(a.color, b.color, eyes);
      assert.ok(d >= bound, `${a.name} and ${b.name}, ${eyes}: ${d.toFixed(2)}`);
    }
  }
});

test("colours stand out from both backgrounds", () => {
  const ratio = (a: Rgb, b: Rgb): number => {
    const [x, y] = [luminance(a) + 0.05, luminance(b) + 0.05];
    return Math.max(x, y) / Math.min(x, y);
  };
  for (const { name, color } of legend)
    for (const back of [{ r: 255, g: 255, b: 255 }, { r: 0x14, g: 0x17, b: 0x1c }])
      assert.ok(ratio(color, back) >= MIN_CONTRAST, `${name}: ${ratio(color, back)}`);
});

test("a phase that nobody foresaw has a colour of its family, always the same", () => {
  assert.deepEqual(phaseColor("backend", "mine"), phaseColor("backend", "mine"));
  assert.deepEqual(phaseColor("custom", "mine"), phaseColor("custom", "mine"));
  assert.ok(phaseRank("backend", "mine") > phaseRank("backend", "codegen"));
  assert.ok(phaseRank("custom", "mine") > phaseRank("unknown", "unattributed"));
});
