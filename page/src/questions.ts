// Named questions, answered in place from what the page holds.
import type { Json } from "./decode";
import { cell, figure, type Cell } from "./dom";
import { bytes, count, duration, percent, seconds, visible } from "./format";
import type { Model } from "./model";
import { NO_DETAIL, summarize } from "./summary";
import { EMPTY, type View } from "./state";

export interface Reply {
  words: string;
  heads: Cell[];
  rows: Cell[][];
  units: number[]; // what a click on a row selects: rows of the units table; -1: nothing
}

export interface Question {
  id: string;
  asks: string;
  reply(model: Model, view: View): Reply;
}

const words = (text: string): Reply => ({ words: text, heads: [], rows: [], units: [] });
const SHOWN = 25;

const chosenUnits = (model: Model, view: View): number[] => {
  const picked = new Set(view.units);
  return model.units.map((_, i) => i).filter((i) => model.isUnit(i) && (picked.size === 0 || picked.has(model.units[i].row)));
};

function backEnd(model: Model, view: View): Reply {
  const sum = summarize(model, { ...EMPTY, units: view.units });
  const ids = model.phases.map((p) => p.id).filter((id) => model.phases[id].segment === "backend" && sum.cpu[id] > 0).sort((a, b) => sum.cpu[b] - sum.cpu[a]);
  const all = ids.reduce((a, id) => a + sum.cpu[id], 0);
  if (all === 0) return words("No sample lies in a back end.");
  const rows = ids.map((id) => {
    const details = (sum.details?.get(id) ?? []).filter((d) => d.name !== NO_DETAIL).slice(0, 4).map((d) => `${visible(d.name)} ${percent(d.cpu / sum.cpu[id], 0)}`);
    return [cell(model.phases[id].name), figure(seconds(sum.cpu[id])), figure(percent(sum.cpu[id] / all)), cell(details.join(", "))];
  });
  return {
    words: `The back end used ${duration(all)} of CPU time, ${percent(all / sum.total)} of what samples saw; most of it in ${model.phases[ids[0]].name}.`,
    heads: [cell("phase"), figure("CPU s"), figure("of the back end"), cell("mostly")], rows, units: rows.map(() => -1),
  };
}

interface Last {
  unit: number;
  cgu: string;
  alone: number;
  from: number;
  cgus: number;
}

// The work item that ended last in a unit, and for how long it was the only one.
function lastItems(model: Model, units: number[]): Last[] {
  const facts = model.facts();
  const out: Last[] = [];
  for (const u of units) {
    const ends = new Map<string, { start: number; end: number }>();
    for (const t of model.units[u].threads)
      for (let i = model.threads.first[t]; i < model.threads.first[t + 1]; i++) {
        if (Number.isNaN(facts.cgu[i])) continue;
        const name = model.data.word("text", facts.cgu[i]);
        const known = ends.get(name);
        if (known) known.end = Math.max(known.end, model.spans.end[i]);
        else ends.set(name, { start: model.spans.start[i], end: model.spans.end[i] });
      }
    if (ends.size < 2) continue;
    const order = [...ends].sort((a, b) => b[1].end - a[1].end);
    const from = Math.max(order[1][1].end, order[0][1].start);
    out.push({ unit: u, cgu: order[0][0], alone: order[0][1].end - from, from, cgus: ends.size });
  }
  return out.sort((a, b) => b.alone - a.alone);
}

function waitedFor(model: Model, view: View): Reply {
  const found = lastItems(model, chosenUnits(model, view));
  if (found.length === 0) return words("No unit has two codegen units or more.");
  const first = found[0];
  return {
    words: `${visible(model.units[first.unit].name)} waited longest for one codegen unit: ${visible(first.cgu)} ran ${duration(first.alone)} after all its others had ended.`,
    heads: [cell("unit"), cell("last codegen unit"), figure("alone for, s"), figure("of wall"), figure("codegen units")],
    rows: found.slice(0, SHOWN).map((f) => {
      const unit = model.units[f.unit];
      return [cell(visible(unit.name)), cell(visible(f.cgu)), figure(seconds(f.alone, 3)), figure(percent(f.alone / (unit.end - unit.start))), figure(count(f.cgus))];
    }),
    units: found.slice(0, SHOWN).map((f) => model.units[f.unit].row),
  };
}

function checkedAndEmitted(model: Model, view: View): Reply {
  const found: { unit: number; checked: number; emitted: number }[] = [];
  for (const u of chosenUnits(model, view)) {
    let checked = NaN;
    let emitted = NaN;
    for (const t of model.units[u].threads)
      for (let i = model.threads.first[t]; i < model.threads.first[t + 1]; i++) {
        const phase = model.phases[model.spans.phase[i]];
        if (phase.segment === "frontend" && ["type_check", "borrowck", "lint", "sema", "templates"].includes(phase.name)) checked = Math.max(checked || 0, model.spans.end[i]);
        if (phase.segment === "backend" && phase.name !== "monomorphize") emitted = Math.min(Number.isNaN(emitted) ? Infinity : emitted, model.spans.start[i]);
      }
    if (!Number.isNaN(checked) || !Number.isNaN(emitted)) found.push({ unit: u, checked: checked - model.units[u].start, emitted: emitted - model.units[u].start });
  }
  if (found.length === 0) return words("No unit has samples in a checking phase or in a back end.");
  found.sort((a, b) => (b.checked || 0) - (a.checked || 0));
  return {
    words: "Seconds after the start of each unit: its last sample in a phase that checks, and its first in a back end. A unit without the second emitted no code.",
    heads: [cell("unit"), figure("checked until, s"), figure("emitting from, s"), figure("ended, s")],
    rows: found.slice(0, SHOWN).map((f) => {
      const unit = model.units[f.unit];
      return [cell(visible(unit.name)), figure(seconds(f.checked, 3)), figure(seconds(f.emitted, 3)), figure(seconds(unit.end - unit.start, 3))];
    }),
    units: found.slice(0, SHOWN).map((f) => model.units[f.unit].row),
  };
}

function macros(model: Model): Reply {
  const table = model.table("macros");
  if (table.rows === 0) return words("No sample lies in a library of procedural macros.");
  const uses = model.table("macros.uses");
  const by = uses.byParent();
  const rows = Array.from({ length: table.rows }, (_, row) => row).sort((a, b) => (table.number("cpu_s", b) ?? 0) - (table.number("cpu_s", a) ?? 0));
  const name = (row: number): string => visible(table.text("macro", row) ?? "");
  return {
    words: `${name(rows[0])} cost most: ${duration(table.number("cpu_s", rows[0]))} of CPU time inside its library.`,
    heads: [cell("macro crate"), figure("CPU s"), figure("waiting s"), figure("units"), cell("most in")],
    rows: rows.slice(0, SHOWN).map((row) => {
      const list = by.get(row) ?? [];
      return [cell(name(row)), figure(seconds(table.number("cpu_s", row), 3)), figure(seconds(table.number("wait_s", row), 3)), figure(count(list.length)),
        cell(list.length ? visible(uses.text("unit", list[0]) ?? "") : "")];
    }),
    units: rows.map(() => -1),
  };
}

function rebuilt(model: Model): Reply {
  const table = model.unitTable;
  const reasons = new Map<string, number[]>();
  for (let row = 0; row < table.rows; row++) {
    const reason = table.text("reason", row);
    if (reason === null) continue;
    const list = reasons.get(reason);
    if (list) list.push(row);
    else reasons.set(reason, [row]);
  }
  const cargo = model.data.header["cargo"] as Record<string, Json> | undefined;
  const fresh = typeof cargo?.["fresh"] === "number" ? ` ${count(cargo["fresh"])} units had nothing to do.` : "";
  if (reasons.size === 0) return words(`The recording does not say why its units were built.${fresh}`);
  const order = [...reasons].sort((a, b) => b[1].length - a[1].length);
  return {
    words: `Most often: ${visible(order[0][0])}.${fresh}`,
    heads: [cell("reason"), figure("units"), cell("first of them")],
    rows: order.slice(0, SHOWN).map(([reason, rows]) => [cell(visible(reason)), figure(count(rows.length)), cell(visible(table.text("unit", rows[0]) ?? ""))]),
    units: order.slice(0, SHOWN).map(([, rows]) => rows[0]),
  };
}

function waits(model: Model, view: View): Reply {
  const table = model.table("units.waits");
  const by = table.byParent();
  const kinds = new Map<string, { seconds: number; count: number; unit: number; most: number }>();
  for (const u of chosenUnits(model, view))
    for (const row of by.get(model.units[u].row) ?? []) {
      const kind = table.text("kind", row) ?? "";
      const s = table.number("seconds", row) ?? 0;
      const known = kinds.get(kind) ?? { seconds: 0, count: 0, unit: -1, most: 0 };
      known.seconds += s;
      known.count += table.number("count", row) ?? 0;
      if (s > known.most) [known.most, known.unit] = [s, u];
      kinds.set(kind, known);
    }
  if (kinds.size === 0) return words("No wait of a millisecond or more was recorded.");
  const order = [...kinds].sort((a, b) => b[1].seconds - a[1].seconds);
  return {
    words: `Threads of these units waited ${duration(order.reduce((a, [, k]) => a + k.seconds, 0))} in all, added up over threads; most of it for ${order[0][0]}.`,
    heads: [cell("for"), figure("seconds of threads"), figure("times"), cell("most in")],
    rows: order.map(([kind, k]) => [cell(kind), figure(seconds(k.seconds, 3)), figure(count(k.count)), cell(k.unit < 0 ? "" : visible(model.units[k.unit].name))]),
    units: order.map(([, k]) => (k.unit < 0 ? -1 : model.units[k.unit].row)),
  };
}

function memory(model: Model, view: View): Reply {
  const table = model.unitTable;
  const units = chosenUnits(model, view).filter((u) => table.number("max_rss_bytes", model.units[u].row) !== null);
  if (units.length === 0) return words("Peak memory was not recorded.");
  const of = (u: number): number => table.number("max_rss_bytes", model.units[u].row) ?? 0;
  units.sort((a, b) => of(b) - of(a));
  return {
    words: `${visible(model.units[units[0]].name)} had the highest peak: ${bytes(of(units[0]))} resident.`,
    heads: [cell("unit"), figure("peak resident memory"), figure("wall s")],
    rows: units.slice(0, SHOWN).map((u) => [cell(visible(model.units[u].name)), figure(bytes(of(u))), figure(seconds(model.units[u].end - model.units[u].start, 3))]),
    units: units.slice(0, SHOWN).map((u) => model.units[u].row),
  };
}

function whatIf(model: Model): Reply {
  const table = model.table("what_if");
  const replay = model.data.header["replay"] as Record<string, Json> | undefined;
  if (table.rows === 0 || typeof replay?.["replayed_s"] !== "number") return words("The recording's schedule was not replayed.");
  const order = Array.from({ length: table.rows }, (_, row) => row).sort((a, b) => (table.number("saved_s", b) ?? 0) - (table.number("saved_s", a) ?? 0));
  const error = typeof replay["error"] === "number" ? ` The replay as it was is ${percent(Math.abs(replay["error"]))} ${replay["error"] < 0 ? "shorter" : "longer"} than the build: so far the answers can be believed.` : "";
  return {
    words: `Most is saved by: ${visible(table.text("change", order[0]) ?? "")}, ${duration(table.number("saved_s", order[0]))} of ${duration(replay["replayed_s"])}.${error}`,
    heads: [cell("change"), figure("the build would take, s"), figure("saved s")],
    rows: order.map((row) => [cell(visible(table.text("change", row) ?? "")), figure(seconds(table.number("wall_s", row))), figure(seconds(table.number("saved_s", row)))]),
    units: order.map(() => -1),
  };
}

function idle(model: Model): Reply {
  const table = model.table("idle_stretches");
  if (table.rows === 0) return words("No stretch was found in which cores were idle and the same units ran.");
  const order = Array.from({ length: table.rows }, (_, row) => row).sort((a, b) => (table.number("idle_core_s", b) ?? 0) - (table.number("idle_core_s", a) ?? 0)).slice(0, SHOWN);
  const name = (row: number): string => visible(table.text("unit", row) ?? "none");
  const pids = model.unitTable.numbers("pid");
  return {
    words: `Most idle: ${duration(table.number("idle_core_s", order[0]))} of cores from ${seconds(table.number("start_s", order[0]), 1)} s to ${seconds(table.number("end_s", order[0]), 1)} s, while ${name(order[0])} ran.`,
    heads: [cell("unit that ran, or ended it"), figure("from s"), figure("to s"), figure("idle core seconds"), figure("could not begin"), cell("the next one")],
    rows: order.map((row) => [
      cell(name(row)), figure(seconds(table.number("start_s", row))), figure(seconds(table.number("end_s", row))), figure(seconds(table.number("idle_core_s", row))),
      figure(table.number("blocked", row) === null ? "–" : count(table.number("blocked", row)!)), cell(visible(table.text("next", row) ?? "")),
    ]),
    units: order.map((row) => model.units.find((u) => u.row >= 0 && u.name === table.text("unit", row) && pids[u.row] === table.number("pid", row))?.row ?? -1),
  };
}

export const QUESTIONS: Question[] = [
  { id: "backend", asks: "What was the back end doing?", reply: backEnd },
  { id: "last-cgu", asks: "Which codegen unit did everything wait for?", reply: waitedFor },
  { id: "checked", asks: "When did each crate stop checking and start emitting?", reply: checkedAndEmitted },
  { id: "macros", asks: "Which macro crate cost most?", reply: macros },
  { id: "reasons", asks: "What was a rebuild caused by?", reply: rebuilt },
  { id: "what-if", asks: "What would make it faster?", reply: whatIf },
  { id: "idle", asks: "When were cores idle, and for whom?", reply: idle },
  { id: "waits", asks: "What did threads wait for?", reply: waits },
  { id: "memory", asks: "Which unit needed most memory?", reply: memory },
];
