// Sums of activities over what is selected: an activity has a row in the report for each unit that did it.
import type { Table } from "./decode";
import type { Model } from "./model";
import type { View } from "./state";

export interface Sum {
  label: string;
  kind: string;
  parts: number[]; // rows of the table
}

const keyOf = (unit: string | null, pid: number | null): string => `${unit ?? ""}\n${pid ?? ""}`;

// The rows that count: of the selected units; where none is selected those of all, or of each unit where nobody summed them up.
function rowsOf(model: Model, view: View): number[] {
  const table = model.table("activities");
  const all = Array.from({ length: table.rows }, (_, row) => row);
  const units = new Set(view.thread >= 0 ? [model.units[model.threads.unit[view.thread]]?.row ?? -1] : view.units);
  const whole = all.filter((row) => table.text("unit", row) === null);
  if (units.size === 0 || whole.length === all.length) return whole.length > 0 ? whole : all;
  const wanted = new Set([...units].map((row) => keyOf(model.unitTable.text("unit", row), model.unitTable.number("pid", row))));
  return all.filter((row) => wanted.has(keyOf(table.text("unit", row), table.number("pid", row))));
}

export function sumActivities(model: Model, view: View): Sum[] {
  const table = model.table("activities");
  const sums = new Map<string, Sum>();
  for (const row of rowsOf(model, view)) {
    const label = table.text("label", row) ?? "";
    const kind = table.text("kind", row) ?? "";
    const key = `${kind}\n${label}`;
    const sum = sums.get(key);
    if (sum) sum.parts.push(row);
    else sums.set(key, { label, kind, parts: [row] });
  }
  return [...sums.values()];
}

// Of the parts: the longest of "max", nothing of what cannot be added up, else the sum. Null: not known.
export function figureOf(table: Table, column: string, parts: number[]): number | null {
  if (!table.has(column)) return null;
  const values = table.numbers(column);
  if (parts.length > 1 && /^p\d/.test(column)) return null;
  let out: number | null = null;
  for (const row of parts) {
    const n = values[row];
    if (Number.isNaN(n)) continue;
    out = out === null ? n : column.startsWith("max") ? Math.max(out, n) : out + n;
  }
  return out;
}

export interface Share {
  label: string;
  self: number;
  share: number;
}

// Those with most time of their own, largest first.
export function largestActivities(model: Model, view: View, count: number): Share[] {
  const table = model.table("activities");
  const all = sumActivities(model, view).map(({ label, parts }) => ({ label, self: figureOf(table, "self_s", parts) ?? 0 }));
  const total = all.reduce((sum, a) => sum + a.self, 0);
  if (total <= 0) return [];
  return all.sort((a, b) => b.self - a.self).slice(0, count).map(({ label, self }) => ({ label, self, share: self / total }));
}
