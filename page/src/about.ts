// About these figures: how they were taken, what they cover, what each column means.
import { cell, el, figure, plainTable, type Cell } from "./dom";
import { duration, percent, shown, visible } from "./format";
import type { Json } from "./decode";
import type { Model } from "./model";

const PARTS: [string, string][] = [
  ["sampled_cpu_s", "in samples"], ["startup_cpu_s", "before a sampler started"], ["tail_cpu_s", "after a sampler's end"], ["unsampled_cpu_s", "in processes that were not sampled"],
  ["late_cpu_s", "in samples that came late"], ["unaccounted_cpu_s", "not accounted for"],
];

export function about(model: Model): HTMLElement {
  const box = el("div", { class: "about" });
  const { header } = model.data;
  if (!model.isOfEvents) {
    box.append(coverageTable(model));
    const unsampled = notSampled(model);
    if (unsampled) box.append(unsampled);
  }
  box.append(el("h4", {}, "The recording"), facts(sessionFacts(model), header.meanings?.["sessions"] ?? header.meanings?.["session"]));
  if (!model.isOfEvents) box.append(el("h4", {}, "Coverage, each figure"), facts(model.coverage, header.meanings?.["coverage"]));
  for (const [key, title] of [["machine", "The machine"], ["cargo", "What cargo says"], ["replay", "The replayed schedule"]] as const) {
    const value = header[key];
    if (model.isOfEvents && key === "replay") continue;
    if (typeof value === "object" && value !== null && Object.values(value).some((v) => v !== null)) box.append(el("h4", {}, title), facts(value as Record<string, Json>, header.meanings?.[key] ?? header.meanings?.[`${key}s`]));
  }
  const rounding = [...(header.rounding ?? [])];
  rounding.push(model.isOfEvents ? "Where several events share a pixel it has the colour of the kind that held most of its time; a pixel that is covered by less than half is paler."
    : "Where several spans share a pixel it has the colour of the phase that held most of its time; a pixel that is covered by less than half is paler.");
  if (header.redacted) rounding.unshift("Arguments, paths and the host's name were left out.");
  box.append(el("h4", {}, "In this page"), el("ul", {}, ...rounding.map((line) => el("li", {}, visible(line)))));
  box.append(columns(model));
  return box;
}

// Of sampling and of builds there is nothing to say where neither was.
const WATCHED = new Set(["complete", "engine", "rate_auto", "kernel_mode", "rustc_bootstrap", "units", "critical_path_s"]);

function sessionFacts(model: Model): Record<string, Json> {
  if (!model.isOfEvents) return model.session;
  return Object.fromEntries(Object.entries(model.session).filter(([key]) => !WATCHED.has(key)));
}

// The parts into which the kernel's charge falls.
function coverageTable(model: Model): HTMLElement {
  const { coverage } = model;
  const charged = coverage["process_cpu_s"];
  if (typeof charged !== "number") return el("p", {}, "The kernel's account of CPU time is not part of this recording.");
  const rows = PARTS.filter(([key]) => typeof coverage[key] === "number").map(([key, name]): Cell[] => {
    const value = coverage[key] as number;
    return [cell(name), figure(duration(value)), figure(percent(value / charged, 2))];
  });
  rows.push([cell("CPU time that the kernel charged"), figure(duration(charged)), figure("100%")]);
  return el("div", { class: "scroll-x" }, plainTable("Where the CPU time was seen", [cell("part"), figure("CPU"), figure("share")], rows));
}

function notSampled(model: Model): HTMLElement | null {
  const table = model.table("processes");
  if (!table.has("sampled")) return null;
  const rows = Array.from({ length: table.rows }, (_, row) => row).filter((row) => table.number("sampled", row) === 0);
  if (rows.length === 0) return null;
  rows.sort((a, b) => (table.number("cpu_s", b) ?? 0) - (table.number("cpu_s", a) ?? 0));
  const lines = rows.slice(0, 50).map((row) => [cell(visible(table.text("exe", row) ?? "unknown")), figure(duration(table.number("cpu_s", row))), cell(visible(table.text("why_not", row) ?? "no reason is known"))]);
  const more = rows.length > 50 ? el("p", {}, `and ${rows.length - 50} more`) : null;
  return el("div", { class: "scroll-x" }, plainTable("Processes that were not sampled", [cell("program"), figure("CPU"), cell("why not")], lines), more);
}

function facts(values: Record<string, Json>, meanings: Record<string, { unit?: string; meaning: string }> | undefined): HTMLElement {
  const list = el("dl", { class: "facts" });
  for (const [key, value] of Object.entries(values)) {
    if (value === null || typeof value === "object") continue;
    const meaning = meanings?.[key];
    const unit = meaning?.unit ?? (key.endsWith("_s") ? "s" : undefined);
    const name = el("dt", meaning ? { title: meaning.meaning } : {}, key.replace(/_/g, " ").replace(/ s$/, ""));
    list.append(el("div", {}, name, el("dd", {}, visible(shown(value, unit)))));
  }
  return list;
}

function columns(model: Model): HTMLElement {
  const box = el("details", { class: "astable" }, el("summary", {}, "What each column means"));
  box.addEventListener("toggle", () => {
    if (!box.open || box.childElementCount > 1) return;
    for (const [table, list] of Object.entries(model.data.header.meanings ?? {})) {
      const rows = Object.entries(list).map(([name, m]) => [cell(name), cell(m.unit ?? ""), cell(m.meaning)]);
      box.append(el("div", { class: "scroll-x" }, plainTable(table, [cell("column"), cell("unit"), cell("meaning")], rows)));
    }
  });
  return box;
}
