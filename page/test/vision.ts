// Colours as eyes see them: differences by CIEDE2000, and the two common deficiencies.
import { decode, type Rgb } from "../src/color";

type Three = [number, number, number];

const linear = (c: Rgb): Three => [decode(c.r), decode(c.g), decode(c.b)];

// Machado, Oliveira, Fernandes 2009, severity 1, on linear light.
const DEFICIENCIES: Record<string, number[]> = {
  none: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
};

function seen(c: Rgb, by: string): Three {
  const [r, g, b] = linear(c);
  const m = DEFICIENCIES[by];
  const at = (i: number): number => Math.min(1, Math.max(0, m[i] * r + m[i + 1] * g + m[i + 2] * b));
  return [at(0), at(3), at(6)];
}

function lab([r, g, b]: Three): Three {
  const f = (t: number): number => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116);
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const rad = Math.PI / 180;

function hueOf(b: number, a: number): number {
  return a === 0 && b === 0 ? 0 : (Math.atan2(b, a) / rad + 360) % 360;
}

export function ciede2000([l1, a1, b1]: Three, [l2, a2, b2]: Three): number {
  const c = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)));
  const p1 = a1 * (1 + g);
  const p2 = a2 * (1 + g);
  const c1 = Math.hypot(p1, b1);
  const c2 = Math.hypot(p2, b2);
  const h1 = hueOf(b1, p1);
  const h2 = hueOf(b2, p2);
  let dh = c1 * c2 === 0 ? 0 : h2 - h1;
  if (dh > 180) dh -= 360;
  else if (dh < -180) dh += 360;
  const dH = 2 * Math.sqrt(c1 * c2) * Math.sin((dh / 2) * rad);
  const lm = (l1 + l2) / 2;
  const cm = (c1 + c2) / 2;
  let hm = h1 + h2;
  if (c1 * c2 !== 0) hm = Math.abs(h1 - h2) <= 180 ? hm / 2 : hm < 360 ? (hm + 360) / 2 : (hm - 360) / 2;
  const t = 1 - 0.17 * Math.cos((hm - 30) * rad) + 0.24 * Math.cos(2 * hm * rad) + 0.32 * Math.cos((3 * hm + 6) * rad)
    - 0.2 * Math.cos((4 * hm - 63) * rad);
  const sl = 1 + (0.015 * (lm - 50) ** 2) / Math.sqrt(20 + (lm - 50) ** 2);
  const sc = 1 + 0.045 * cm;
  const sh = 1 + 0.015 * cm * t;
  const turn = 30 * Math.exp(-(((hm - 275) / 25) ** 2));
  const rt = -Math.sin(2 * turn * rad) * 2 * Math.sqrt(cm ** 7 / (cm ** 7 + 25 ** 7));
  return Math.sqrt(((l2 - l1) / sl) ** 2 + ((c2 - c1) / sc) ** 2 + (dH / sh) ** 2 + rt * ((c2 - c1) / sc) * (dH / sh));
}

export const difference = (a: Rgb, b: Rgb, by = "none"): number => ciede2000(lab(seen(a, by)), lab(seen(b, by)));
