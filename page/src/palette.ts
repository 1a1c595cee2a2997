// Which colour a phase has. A family is a segment: its hue. The phase inside it is the lightness: first phase of a compilation
// lightest, evenly spaced in OKLCH. The colours are the same in both themes and in every page.
//
// What the test of this file holds, and thus what may be relied upon:
//   inside a family each phase's relative luminance differs from the next one's by at least MIN_LUMINANCE_STEP;
//   neighbours in a legend differ by at least MIN_DELTA_E (CIEDE2000), and by MIN_DELTA_E_CVD as seen with deuteranopia and
//   protanopia (Machado, Oliveira and Fernandes 2009, full severity);
//   each colour differs from either theme's background by at least MIN_CONTRAST.
import { oklch, type Rgb } from "./color";

export const MIN_LUMINANCE_STEP = 0.02;
export const MIN_DELTA_E = 3;
export const MIN_DELTA_E_CVD = 2.5;
export const MIN_CONTRAST = 1.2;

interface Family {
  hue: number;
  chroma: number;
  light: number; // OKLCH lightness of the first phase
  dark: number; // and of the last
  phases: string[];
}

// Phases in the order in which a compilation comes to them.
export const FAMILIES: Record<string, Family> = {
  frontend: {
    hue: 255, chroma: 0.13, light: 0.9, dark: 0.42,
    phases: ["parse", "macro_expand", "proc_macro", "resolve", "lower", "type_check", "templates", "const_eval", "queries", "mir_build",
      "borrowck", "lint", "metadata", "incr_cache"],
  },
  backend: {
    hue: 50, chroma: 0.15, light: 0.88, dark: 0.48,
    phases: ["monomorphize", "ir_build", "optimize", "machine_code", "lto", "free_module", "codegen"],
  },
  link: { hue: 155, chroma: 0.14, light: 0.62, dark: 0.62, phases: ["link"] },
  process: { hue: 325, chroma: 0.1, light: 0.84, dark: 0.52, phases: ["startup", "driver", "program", "teardown"] },
  wait: { hue: 105, chroma: 0.1, light: 0.8, dark: 0.8, phases: ["blocked"] },
  unknown: { hue: 0, chroma: 0, light: 0.6, dark: 0.6, phases: ["unattributed"] },
};

export const SEGMENTS = Object.keys(FAMILIES);

// FNV-1a: the same in every page.
export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619) >>> 0;
  return h;
}

// A segment or phase that somebody's own markers made has a place of its own, always the same.
export function phaseColor(segment: string, phase: string): Rgb {
  const family = FAMILIES[segment];
  if (!family) return oklch(0.5 + (hash(phase) % 100) / 300, 0.12, hash(segment) % 360);
  const at = family.phases.indexOf(phase);
  const last = family.phases.length - 1;
  const share = at >= 0 ? at / Math.max(1, last) : (hash(phase) % 97) / 96;
  return oklch(family.light + (family.dark - family.light) * share, family.chroma, family.hue);
}

export function segmentColor(segment: string): Rgb {
  const family = FAMILIES[segment];
  if (!family) return oklch(0.65, 0.12, hash(segment) % 360);
  return oklch(Math.min(0.68, (family.light + family.dark) / 2), family.chroma, family.hue);
}

// In the order of legends: families as above, phases as a compilation meets them, the unknown ones behind.
export function phaseRank(segment: string, phase: string): number {
  const family = SEGMENTS.indexOf(segment);
  const at = family < 0 ? -1 : FAMILIES[segment].phases.indexOf(phase);
  return (family < 0 ? SEGMENTS.length : family) * 1000 + (at < 0 ? 999 : at);
}
