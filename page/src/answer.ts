// The answer first: what happened, in words, and what to look at.
import { largestActivities } from "./activity_sums";
import { inkOn } from "./color";
import { coverageLine } from "./coverage";
import type { Finding, Link } from "./decode";
import { button, el } from "./dom";
import { count, digits, duration, percent, plural, visible } from "./format";
import type { Graph } from "./graph";
import type { Model } from "./model";
import { EMPTY, type State, type View } from "./state";
import { summarize } from "./summary";

const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);

// One sentence a fact, and none where it is not known.
export function sentences(model: Model, graph: Graph): string[] {
  const { session, coverage } = model;
  const out: string[] = [];
  if (model.isOfEvents) return ofEvents(model);
  const elapsed = numberOf(session["elapsed_s"]);
  const cpu = numberOf(coverage["process_cpu_s"]);
  const used = numberOf(session["cores_used"]);
  const cores = numberOf(session["cores"]);
  const exit = numberOf(session["exit_code"]);
  const name = `“${visible(model.title)}”`;
  if (elapsed !== null) {
    const usage = used !== null && cores !== null ? `, which kept ${digits(used, used < 0.995 ? 2 : 1)} of ${plural(cores, "core")} busy on average` : "";
    const ended = exit ? `failed (exit code ${exit}) after` : "took";
    out.push(`${name} ${ended} ${duration(elapsed)}${cpu !== null ? ` and used ${duration(cpu)} of CPU time${usage}` : ""}.`);
  } else out.push(`${name}.`);
  if (session["complete"] === false) out.push("The recording did not see the end of the command: what follows is about the part before.");
  out.push(...gates(model, graph), ...spent(model), ...acted(model));
  const tail = numberOf(session["serial_tail_s"]);
  if (tail !== null && elapsed && tail / elapsed >= 0.97) out.push("Never more than one thread was working.");
  else if (tail !== null && elapsed && tail / elapsed >= 0.05) out.push(`For the last ${duration(tail)} (${percent(tail / elapsed, 0)}) never more than one thread was working.`);
  out.push(coverageLine(model));
  const unsampled = unwatched(model);
  if (unsampled) out.push(unsampled);
  return out;
}

// What programs recorded of themselves: how much, for how long, and what of it is missing.
function ofEvents(model: Model): string[] {
  const value = model.data.header["intervals"];
  const sums = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const name = visible(model.title);
  const events = numberOf(sums["events"]);
  if (events === null) return [`“${name}” recorded its own events.`];
  const of = [plural(numberOf(sums["threads"]) ?? model.threads.count, "thread")];
  const processes = numberOf(sums["processes"]) ?? 1;
  if (processes > 1) of.push(`of ${plural(processes, "process", "processes")}`);
  const span = eventSpan(model);
  const out = [`“${name}” recorded ${plural(events, "event")} on ${of.join(" ")}${span === null ? "" : `, ${duration(span)} from the first to the last`}.`];
  const lost = model.table("processes").numbers("lost").reduce((a, n) => a + (n || 0), 0);
  if (lost > 0) out.push(`${plural(lost, "event")} could not be stored.`);
  const open = numberOf(sums["open"]) ?? 0;
  if (open > 0) out.push(`${plural(open, "event")} never ended.`);
  return [...out, ...acted(model)];
}

function eventSpan(model: Model): number | null {
  const table = model.table("activity_threads");
  let [first, last] = [Infinity, -Infinity];
  for (const start of table.numbers("start_s")) if (start < first) first = start;
  for (const end of table.numbers("end_s")) if (end > last) last = end;
  return last >= first ? last - first : null;
}

function gates(model: Model, graph: Graph): string[] {
  const units = model.units.filter((u) => u.row >= 0);
  if (units.length === 0) return model.data.has("activities") ? [] : ["No compilation was recognised in it."];
  const elapsed = numberOf(model.session["elapsed_s"]) ?? model.elapsed;
  if (graph.critical.size > 0) {
    const chain = [...graph.critical].map((i) => model.units[i]).sort((a, b) => b.end - b.start - (a.end - a.start));
    const names = chain.slice(0, 3).map((u) => `${visible(u.name)} (${duration(u.end - u.start)})`);
    const all = numberOf(model.session["critical_path_s"]);
    const share = all !== null && elapsed ? all / elapsed : null;
    const takes = all === null ? "" : ` takes ${duration(all)}, ${percent(share, 0)} of that time${share !== null && share >= 0.8 ? ", and so sets the length of the build" : ""}`;
    return [
      `${plural(units.length, "unit")} ran. ${chain.length > 1 ? `The longest chain of them, ${count(chain.length)} that wait for each other,` : "The longest chain of them is one unit, which"}${takes || " is the critical path"}${chain.length > names.length ? "; most of it" : ""}: ${list(names)}.`,
    ];
  }
  const longest = units.reduce((a, b) => (b.end - b.start > a.end - a.start ? b : a));
  const lasted = longest.end - longest.start;
  const one = units.length === 1 ? `One unit ran: ${visible(longest.name)}, ${duration(lasted)}.` : `${plural(units.length, "unit")} ran; the longest, ${visible(longest.name)}, took ${duration(lasted)}, ${percent(lasted / elapsed, 0)} of the whole.`;
  return [one];
}

const list = (parts: string[]): string => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`);

const LEAST = 0.1; // of the CPU time: what a sentence names

// Where the CPU time of a build went: segments, each with the phase that had most of it.
function spent(model: Model): string[] {
  if (model.unitTable.rows === 0) return [];
  const { cpu, total } = summarize(model, EMPTY);
  if (total <= 0) return [];
  const parts = model.segments.map(({ name }) => {
    const phases = model.phases.filter((p) => p.segment === name);
    const sum = phases.reduce((all, p) => all + cpu[p.id], 0);
    const most = phases.reduce<(typeof phases)[0] | null>((a, p) => (a && cpu[a.id] >= cpu[p.id] ? a : p), null);
    return { name, sum, most: phases.length > 1 && most ? ` (its largest phase is ${most.name}, ${percent(cpu[most.id] / total, 0)})` : "" };
  }).filter(({ sum }) => sum / total >= LEAST).sort((a, b) => b.sum - a.sum);
  return parts.length === 0 ? [] : [`Of the CPU time ${list(parts.map(({ name, sum, most }) => `${percent(sum / total, 0)} went to ${IN_WORDS[name] ?? name}${most}`))}.`];
}

// The same to look at: segments side by side.
function strip(model: Model): HTMLElement | null {
  const { cpu, total } = summarize(model, EMPTY);
  if (model.unitTable.rows === 0 || total <= 0) return null;
  const box = el("div", { class: "strip", role: "img" });
  const words: string[] = [];
  model.segments.forEach((segment, i) => {
    const share = model.phases.reduce((sum, p) => sum + (model.segmentOf[p.id] === i ? cpu[p.id] : 0), 0) / total;
    if (share <= 0) return;
    const label = `${segment.name} ${percent(share, 0)}`;
    words.push(label);
    const part = el("span", { title: label }, el("span", {}, label));
    part.style.flexGrow = String(share);
    part.style.background = segment.css;
    part.style.color = inkOn(segment.color);
    box.append(part);
  });
  box.setAttribute("aria-label", `CPU time by segment: ${words.join(", ")}`);
  return box;
}

const IN_WORDS: Record<string, string> = { frontend: "the front end", backend: "the back end", link: "linking", process: "starting and ending processes, and other programs", unknown: "what no marker knows" };

// The activities with most time of their own, of programs that are no build.
function acted(model: Model): string[] {
  if (!model.data.has("activities") || (model.unitTable.rows > 0 && !model.isOfEvents)) return [];
  const most = largestActivities(model, EMPTY, 3);
  return most.length === 0 ? [] : [`Most time of their own had ${list(most.map((a) => `${visible(a.label)} (${duration(a.self)}, ${percent(a.share, 0)})`))}.`];
}

function unwatched(model: Model): string {
  const processes = model.table("processes");
  if (processes.rows === 0 || !processes.has("sampled")) return "";
  const sampled = processes.numbers("sampled");
  let n = 0;
  for (let row = 0; row < processes.rows; row++) if (sampled[row] === 0) n++;
  const cpu = numberOf(model.coverage["unsampled_cpu_s"]);
  return n === 0 ? "" : `${plural(n, "process was", "processes were")} not watched${cpu ? ` (${duration(cpu)} of CPU time)` : ""}: see “About these figures”.`;
}

const SECTION: Record<string, string> = { units: "units", timeline: "build", critical_path: "build", phases: "phases", waits: "units", coverage: "about" };

// Where a finding shows.
export function follow(link: Link, model: Model, state: State): string {
  const change: Partial<View> = { thread: -1, units: link.unit !== undefined ? [link.unit] : [], phase: link.phase !== undefined ? (model.phases[link.phase]?.key ?? "") : "" };
  const has = link.from_s !== undefined && link.to_s !== undefined && link.to_s > link.from_s;
  change.range = has ? [link.from_s!, link.to_s!] : null;
  state.set(change);
  return SECTION[link.view] ?? "build";
}

function hasSection({ view }: Link, model: Model): boolean {
  const section = SECTION[view] ?? "build";
  return section === "about" || (section === "phases" ? model.hasPhases : model.hasBuild);
}

const PLACES: Record<string, string> = {
  units: "Show the units", timeline: "Show it in the build", critical_path: "Show the critical path", phases: "Show the phases", waits: "Show the waits", coverage: "Show the coverage",
};

export function answer(model: Model, graph: Graph, state: State, goTo: (section: string) => void): HTMLElement {
  const box = el("div", { class: "answer" });
  box.append(el("p", { class: "lead" }, sentences(model, graph).join(" ")), strip(model) ?? "");
  const findings = model.data.header.findings ?? [];
  if (findings.length === 0) return box;
  box.append(el("h3", {}, findings.length === 1 ? "One finding" : `${findings.length} findings`));
  const list = el("ul", { class: "findings" });
  for (const finding of findings) list.append(item(finding, model, state, goTo));
  box.append(list);
  return box;
}

function item(finding: Finding, model: Model, state: State, goTo: (section: string) => void): HTMLElement {
  const made = el("li", { class: "finding", "data-severity": finding.severity, "data-finding": finding.id });
  made.append(el("span", { class: "severity" }, finding.severity), el("span", { class: "words" }, visible(finding.text)));
  const seen = new Set<string>();
  const links = el("span", { class: "links" });
  for (const link of finding.links ?? []) {
    const label = link.unit !== undefined ? visible(model.unitTable.text("unit", link.unit) ?? "unit") : (PLACES[link.view] ?? "Show it");
    if (seen.has(label) || !hasSection(link, model)) continue;
    seen.add(label);
    links.append(button(label, () => goTo(follow(link, model, state)), { class: "link" }));
  }
  if (links.childElementCount) made.append(links);
  return made;
}
