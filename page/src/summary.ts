// CPU time by phase of what is selected: the whole, some units, a stretch of time, one thread.
import type { Table } from "./decode";
import type { Model } from "./model";
import type { View } from "./state";

export interface Detail {
  name: string; // "(no finer detail)" where no marker claimed it
  cpu: number;
  samples: number;
}

export interface Summary {
  cpu: Float64Array; // by phase
  samples: Float64Array;
  details: Map<number, Detail[]> | null; // null: not known for this selection
  roles: Map<string, number> | null;
  total: number;
  exact: boolean; // the report's own figures; else spans that the range cuts count by their share of it
}

export const NO_DETAIL = "(no finer detail)";

// The phase of a row, whether the table names it by number or in words.
function phaseReader(model: Model, table: Table): (row: number) => number {
  if (table.type("phase") === "phase") {
    const numbers = table.numbers("phase");
    return (row) => numbers[row];
  }
  const byName = new Map(model.phases.map((p) => [p.key, p.id]));
  return (row) => byName.get(`${table.text("segment", row)}/${table.text("phase", row)}`) ?? -1;
}

function add(model: Model, table: Table, rows: Iterable<number>, out: Summary): void {
  const phaseOf = phaseReader(model, table);
  const cpu = table.numbers("cpu_s");
  const samples = table.numbers("samples");
  const byName = new Map<string, Detail>();
  for (const row of rows) {
    const phase = phaseOf(row);
    if (!(phase >= 0)) continue;
    out.cpu[phase] += cpu[row] || 0;
    out.samples[phase] += samples[row] || 0;
    out.total += cpu[row] || 0;
    const role = table.text("role", row);
    if (role !== null) out.roles?.set(role, (out.roles.get(role) ?? 0) + (cpu[row] || 0));
    const name = table.text("detail", row) ?? NO_DETAIL;
    const key = `${phase} ${name}`;
    let detail = byName.get(key);
    if (!detail) {
      detail = { name, cpu: 0, samples: 0 };
      byName.set(key, detail);
      const list = out.details?.get(phase);
      if (list) list.push(detail);
      else out.details?.set(phase, [detail]);
    }
    detail.cpu += cpu[row] || 0;
    detail.samples += samples[row] || 0;
  }
  for (const list of out.details?.values() ?? []) list.sort((a, b) => b.cpu - a.cpu || (a.name < b.name ? -1 : 1));
}

// The spans of what is selected, each with the share of it that lies in the selected stretch of time.
export function eachSpan(model: Model, view: View, act: (thread: number, span: number, share: number) => void): void {
  const { start, end } = model.spans;
  const [t0, t1] = view.range ?? [-Infinity, Infinity];
  const wanted = new Set(view.units);
  for (let t = 0; t < model.threads.count; t++) {
    if (view.thread >= 0 ? t !== view.thread : wanted.size > 0 && !wanted.has(model.units[model.threads.unit[t]]?.row ?? -1)) continue;
    for (let i = model.threads.first[t]; i < model.threads.first[t + 1]; i++) {
      if (end[i] <= t0 || start[i] >= t1) continue;
      const length = end[i] - start[i];
      act(t, i, length > 0 ? (Math.min(end[i], t1) - Math.max(start[i], t0)) / length : 1);
    }
  }
}

function fromSpans(model: Model, view: View, out: Summary): void {
  const { phase } = model.spans;
  const facts = model.facts();
  eachSpan(model, view, (_, i, share) => {
    const cpu = facts.cpu[i] * share;
    out.cpu[phase[i]] += cpu;
    out.samples[phase[i]] += facts.samples[i] * share;
    out.total += cpu;
    const role = Number.isNaN(facts.role[i]) ? null : model.data.word("role", facts.role[i]);
    if (role !== null) out.roles?.set(role, (out.roles.get(role) ?? 0) + cpu);
  });
}

export function summarize(model: Model, view: View): Summary {
  const phases = model.phases.length;
  const out: Summary = {
    cpu: new Float64Array(phases), samples: new Float64Array(phases), details: new Map(), roles: new Map(), total: 0, exact: true,
  };
  if (view.range || view.thread >= 0) {
    out.details = null;
    out.exact = view.range === null;
    fromSpans(model, view, out);
    return out;
  }
  if (view.units.length > 0) {
    const byUnit = model.table("units.phases").byParent();
    add(model, model.table("units.phases"), view.units.flatMap((row) => byUnit.get(row) ?? []), out);
    return out;
  }
  const table = model.table("phases");
  add(model, table, Array.from({ length: table.rows }, (_, row) => row), out);
  const roles = model.table("roles");
  for (let row = 0; row < roles.rows; row++) out.roles!.set(roles.text("role", row) ?? "", roles.number("cpu_s", row) ?? 0);
  return out;
}

// In words, for above a chart.
export function describeSelection(model: Model, view: View): string {
  const parts: string[] = [];
  if (view.thread >= 0 && view.thread < model.threads.count) {
    parts.push(`thread ${model.threadTitle(view.thread)} of ${model.units[model.threads.unit[view.thread]]?.name ?? "a process"}`);
  } else if (view.units.length === 1) parts.push(model.unitTable.text("unit", view.units[0]) ?? "one unit");
  else if (view.units.length > 1) parts.push(`${view.units.length} units`);
  else parts.push(model.unitTable.rows > 0 ? "the whole build" : "the whole run");
  if (view.range) parts.push(`from ${view.range[0].toFixed(3)} s to ${view.range[1].toFixed(3)} s`);
  return parts.join(", ");
}
