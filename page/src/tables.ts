// What the charts over time show, as tables: for screen readers and for whoever wants the figures.
import { cell, figure, plainTable, type Cell } from "./dom";
import { count, percent, seconds, visible } from "./format";
import { metadataAt, type Graph } from "./graph";
import type { Model } from "./model";
import type { View } from "./state";

export function buildTable(model: Model, graph: Graph): HTMLElement {
  const table = model.unitTable;
  const after = (i: number): number | null => {
    const at = metadataAt(model, i);
    return at === null ? null : at - model.units[i].start;
  };
  const heads = [cell("unit"), cell("kind"), figure("from s"), figure("to s"), figure("wall s"), figure("CPU s"), figure("metadata after s"), cell("critical path"), cell("waits for")];
  const rows = model.units.map((unit, i): Cell[] | null => {
    if (unit.row < 0) return null;
    const before = (graph.before.get(i) ?? []).map((edge) => visible(model.units[edge.dep].name));
    return [
      cell(visible(unit.name)), cell(unit.kind), figure(seconds(unit.start, 3)), figure(seconds(unit.end, 3)), figure(seconds(unit.end - unit.start, 3)),
      figure(seconds(table.number("cpu_s", unit.row), 3)), figure(seconds(after(i), 3)), cell(graph.critical.has(i) ? "yes" : ""), cell(before.join(", ")),
    ];
  });
  return plainTable(null, heads, rows.filter((row) => row !== null));
}

const MOST = 2000; // rows of a table that a browser lays out in a moment

export function threadTable(model: Model, view: View): HTMLElement {
  const picked = new Set(view.units);
  const heads = [cell("unit"), cell("thread"), figure("from s"), figure("to s"), figure("spans"), figure("with samples s"), cell("mostly in")];
  const rows: Cell[][] = [];
  let left = 0;
  for (const unit of model.units) {
    if (picked.size > 0 && !picked.has(unit.row)) continue;
    for (const t of unit.threads) {
      if (rows.length >= MOST) left++;
      else rows.push(threadRow(model, unit.name, t));
    }
  }
  return plainTable(left > 0 ? `The first ${count(MOST)} threads; ${count(left)} more are there when fewer units are selected.` : null, heads, rows);
}

function threadRow(model: Model, unit: string, t: number): Cell[] {
  const [from, to] = [model.threads.first[t], model.threads.first[t + 1]];
  const sums = model.merger.sum(from, to, -Infinity, Infinity);
  const all = sums.reduce((a, b) => a + b, 0);
  const top = [...sums.keys()].filter((p) => sums[p] > 0).sort((a, b) => sums[b] - sums[a]).slice(0, 3);
  return [
    cell(visible(unit)), cell(visible(model.threadTitle(t))), figure(seconds(model.threads.start[t], 3)), figure(seconds(model.threads.end[t], 3)), figure(count(to - from)),
    figure(seconds(all, 3)), cell(top.map((p) => `${model.phases[p].name} ${percent(sums[p] / all, 0)}`).join(", ")),
  ];
}
