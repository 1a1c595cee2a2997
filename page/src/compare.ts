// Two sets of recordings: both builds on one axis, and what moved, with noise where there were repeats.
import { TimeAxis } from "./axis";
import { Build } from "./build";
import type { Json } from "./decode";
import { button, cell, el, figure, plainTable, type Cell } from "./dom";
import { bytes, count, digits, duration, percent, visible } from "./format";
import { Graph } from "./graph";
import type { Keys } from "./keys";
import type { Model } from "./model";
import { State } from "./state";

type Obj = { [key: string]: Json };
const isObj = (value: Json | undefined): value is Obj => typeof value === "object" && value !== null && !Array.isArray(value);

interface Moved {
  name: string;
  before: number | null;
  after: number | null;
  change: number | null;
  share: number | null;
  low: number | null;
  high: number | null;
  verdict: string;
  show(n: number | null): string;
}

// What a row is about: the figure that the other two sides have as well.
const FIGURES = ["amount_s", "cpu_s", "self_s", "self_units", "amount_units", "bytes", "count"];
const SECTIONS: [string, string][] = [["totals", "In all"], ["segments", "Segments"], ["phases", "Phases"], ["units", "Units"], ["labels", "Activities"], ["artifacts", "Artifacts"]];
const SHOWN = 20;

const num = (value: Json | undefined): number | null => (typeof value === "number" ? value : null);

function shower(key: string): (n: number | null) => string {
  if (key.endsWith("_s")) return (n) => duration(n);
  if (key === "bytes") return (n) => bytes(n);
  return (n) => (n === null ? "–" : Number.isInteger(n) ? count(n) : digits(n, 2));
}

export function movedRows(list: Json | undefined): Moved[] {
  if (!Array.isArray(list)) return [];
  return list.filter(isObj).map((row) => {
    const before = isObj(row["before"]) ? row["before"] : {};
    const after = isObj(row["after"]) ? row["after"] : {};
    const key = FIGURES.find((f) => f in before || f in after) ?? FIGURES[0];
    return {
      name: String(row["name"] ?? ""), before: num(before[key]), after: num(after[key]), change: num(row["change"]), share: num(row["share"]), low: num(row["low"]),
      high: num(row["high"]), verdict: String(row["verdict"] ?? ""), show: shower(key),
    };
  });
}

const signed = (text: string, n: number | null): string => (n !== null && n > 0 ? `+${text}` : text);

function table(rows: Moved[], repeated: boolean): HTMLTableElement {
  const heads = [cell(""), figure("before"), figure("after"), figure("change"), figure("relative"), ...(repeated ? [figure("within noise"), cell("verdict")] : [])];
  const most = rows.reduce((a, r) => Math.max(a, Math.abs(r.change ?? 0)), 0);
  const made = plainTable(null, heads, rows.map((r): Cell[] => [
    cell(visible(r.name)), figure(r.show(r.before)), figure(r.show(r.after)), figure(signed(r.show(r.change), r.change)), figure(signed(percent(r.share), r.share)),
    ...(repeated ? [figure(r.low === null || r.high === null ? "–" : `${signed(r.show(r.low), r.low)} to ${signed(r.show(r.high), r.high)}`), cell(r.verdict)] : []),
  ]));
  made.querySelectorAll("tbody tr").forEach((tr, i) => {
    const change = rows[i].change ?? 0;
    const bar = el("span", { class: `cellbar ${change > 0 ? "more-than" : "less-than"}` });
    bar.style.width = `${most > 0 ? (100 * Math.abs(change)) / most : 0}%`;
    tr.children[3]?.append(bar);
  });
  return made;
}

function section(title: string, rows: Moved[], repeated: boolean): HTMLElement {
  const sorted = title === "In all" ? rows : [...rows].sort((a, b) => Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0));
  const holder = el("div", { class: "scroll-x" }, table(sorted.slice(0, SHOWN), repeated));
  const box = el("div", { "data-moved": title }, el("h4", {}, title), holder);
  if (sorted.length > SHOWN) {
    const more = button(`Show all ${count(sorted.length)}`, () => {
      holder.replaceChildren(table(sorted, repeated));
      more.remove();
    }, { class: "more" });
    box.append(more);
  }
  return box;
}

// Segments are what two builds are worth comparing at: made from phases where the comparison has none of its own.
function segmentsOf(phases: Moved[]): Moved[] {
  const sums = new Map<string, Moved>();
  for (const p of phases) {
    const name = p.name.split(" / ")[0];
    const known = sums.get(name) ?? { ...p, name, before: 0, after: 0, change: 0, share: null, low: null, high: null, verdict: "" };
    known.before = (known.before ?? 0) + (p.before ?? 0);
    known.after = (known.after ?? 0) + (p.after ?? 0);
    known.change = (known.change ?? 0) + (p.change ?? 0);
    known.share = known.before ? known.change / known.before : null;
    sums.set(name, known);
  }
  return [...sums.values()];
}

export class Compare {
  readonly root = el("div", { class: "compare" });

  constructor(models: Model[], comparison: Json, keys: Keys) {
    const runs = (side: string): number => (isObj(comparison) && Array.isArray(comparison[side]) ? comparison[side].length : 1);
    if (runs("before") > 1 || runs("after") > 1) {
      const shown = `${count(runs("before"))} before and ${count(runs("after"))} after`;
      this.root.append(el("p", { class: "note" }, `Compared are ${shown}: the tables hold medians. Of each set the charts, and all other sections, show the run of middle length.`));
    }
    if (models.length > 1) this.builds(models, keys);
    if (isObj(comparison)) this.moved(comparison);
  }

  // One of each set; what is selected in one is selected in the other, by name.
  private builds(models: Model[], keys: Keys): void {
    const before = models.find((m) => (m.data.header.set ?? 0) === 0) ?? models[0];
    const after = models.find((m) => m.data.header.set === 1) ?? models[1];
    const axis = new TimeAxis(Math.max(before.elapsed, after.elapsed));
    const states = [new State(false), new State(false)];
    [before, after].forEach((model, i) => {
      const chart = new Build(model, new Graph(model), states[i], axis, 0.3);
      keys.watch(chart.pane.canvas, () => axis);
      states[i].listen((changed) => {
        if (changed.has("range")) states[1 - i].set({ range: states[i].view.range });
        if (changed.has("units")) states[1 - i].set({ units: sameUnits(model, states[i].view.units, i === 0 ? after : before) });
        chart.pane.invalidate();
      });
      this.root.append(el("h4", {}, visible(`${i === 0 ? "Before" : "After"}: ${model.name}, ${duration(model.elapsed)}`)), chart.scroller);
    });
  }

  private moved(comparison: Obj): void {
    const repeated = comparison["repeated"] === true;
    if (!repeated) this.root.append(el("p", { class: "note" }, "One recording on each side: how much two runs of the same work differ is not known. Repeats of both would tell."));
    const phases = movedRows(comparison["phases"]);
    for (const [key, title] of SECTIONS) {
      const rows = key === "segments" && !("segments" in comparison) ? segmentsOf(phases) : movedRows(comparison[key]);
      if (rows.length > 0) this.root.append(section(title, rows, repeated));
    }
  }
}

function sameUnits(from: Model, rows: number[], to: Model): number[] {
  const key = from.unitTable.has("class_id") && to.unitTable.has("class_id") ? "class_id" : "unit";
  const names = new Set(rows.map((row) => from.unitTable.text(key, row)));
  return Array.from({ length: to.unitTable.rows }, (_, row) => row).filter((row) => names.has(to.unitTable.text(key, row)));
}
