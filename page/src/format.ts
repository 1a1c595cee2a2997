// Figures as people read them. Null is a dash: not measured, never 0.
import type { Json } from "./decode";

export const DASH = "–";

export function digits(n: number, places: number): string {
  // Not toLocaleString: it takes longer than all else of a chart's ruler, sixty times a second.
  const fixed = Math.abs(n).toFixed(places);
  const point = places > 0 ? fixed.length - places - 1 : fixed.length;
  let out = fixed.slice(point);
  for (let end = point; end > 0; end -= 3) out = fixed.slice(Math.max(0, end - 3), end) + (end < point ? " " : "") + out;
  return n < 0 && /[1-9]/.test(fixed) ? `−${out}` : out;
}

export const count = (n: number): string => digits(Math.round(n), 0);

const three = (n: number): string => digits(n, Math.abs(n) >= 99.95 ? 0 : Math.abs(n) >= 9.995 ? 1 : 2);

// 1 min 04 s, 12.3 s, 45.6 ms, 789 µs: three digits that say something.
export function duration(seconds: number | null): string {
  if (seconds === null || Number.isNaN(seconds)) return DASH;
  const s = Math.abs(seconds);
  const sign = seconds < 0 ? "−" : "";
  if (s >= 3600) return `${sign}${Math.floor(s / 3600)} h ${String(Math.round((s % 3600) / 60)).padStart(2, "0")} min`;
  if (s >= 99.95) return `${sign}${Math.floor(Math.round(s) / 60)} min ${String(Math.round(s) % 60).padStart(2, "0")} s`;
  if (s >= 0.9995) return `${sign}${three(s)} s`;
  if (s >= 0.0009995) return `${sign}${three(s * 1e3)} ms`;
  if (s > 0) return `${sign}${three(s * 1e6)} µs`;
  return "0 s";
}

// The same unit in all rows of a column, so that digits stand under digits.
export const seconds = (s: number | null, places = 2): string => (s === null || Number.isNaN(s) ? DASH : digits(s, places));

// A moment, as exactly as it is known.
export function moment(s: number): string {
  return `${digits(s, 6)} s`;
}

export function percent(share: number | null, places = 1): string {
  if (share === null || Number.isNaN(share)) return DASH;
  const least = 10 ** -places;
  return share > 0 && share * 100 < least / 2 ? `<${digits(least, places)}%` : `${digits(share * 100, places)}%`;
}

export function bytes(n: number | null): string {
  if (n === null || Number.isNaN(n)) return DASH;
  const names = ["B", "KB", "MB", "GB", "TB"];
  let k = 0;
  while (Math.abs(n) >= 999.5 && k < names.length - 1) {
    n /= 1000;
    k++;
  }
  return `${k === 0 ? count(n) : three(n)} ${names[k]}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// A value of the report, by the unit that the schema names.
export function shown(value: Json, unit: string | undefined): string {
  if (value === null) return DASH;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (unit === "s") return duration(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "0 to 1") return percent(value);
  if (unit === "hz") return `${count(value)} Hz`;
  return Number.isInteger(value) ? count(value) : digits(value, 2);
}

// Control characters would make text invisible or turn it around.
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : code === 127 ? "\u2421" : "\ufffd";
  });
}
