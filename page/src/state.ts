// What is selected and how it is looked at. All of it is in the URL's fragment: a link shows the same thing.

export interface View {
  recording: number;
  units: number[]; // rows of the units table
  thread: number; // row of threads; -1: none
  phase: string; // segment/phase, or a segment alone; "" for all
  range: [number, number] | null; // seconds of the build
  build: [number, number] | null; // what the build's axis shows; null: all
  unitAxis: [number, number] | null;
  time: "build" | "unit";
  lanes: "auto" | "units" | "packed";
  order: "auto" | "start" | "cpu"; // of units in the chart of threads
  rows: "small" | "large";
  flame: "down" | "up" | "phase";
  root: string; // path of frames into the flame graph
  find: string;
  frames: string; // searched for in the flame graph
  events: string; // and among activities
  sort: string;
  filter: string;
  columns: "main" | "all";
  question: string;
  fn: number; // row of the functions that call each other; -1: none was chosen
  of: "auto" | "events" | "samples"; // which of them, and which flame graph
  fns: string; // searched for among them
  at: string; // the section in view
}

export const EMPTY: View = {
  recording: 0, units: [], thread: -1, phase: "", range: null, build: null, unitAxis: null, time: "build", lanes: "auto", order: "auto", rows: "small",
  flame: "down", root: "", find: "", frames: "", events: "", sort: "-cpu_s", filter: "", columns: "main", question: "", fn: -1, of: "auto", fns: "", at: "",
};

const MANY = 60; // units: more do not fit a window a lane each, and the first to start say least

// What "auto" means for as many units.
export const lanesOf = (view: View, units: number): "units" | "packed" => (view.lanes === "auto" ? (units > MANY ? "packed" : "units") : view.lanes);
export const orderOf = (view: View, units: number): "start" | "cpu" => (view.order === "auto" ? (units > MANY ? "cpu" : "start") : view.order);

// Six digits behind the point: what the axis can be zoomed to and a person can compare.
const trim = (n: number): string => String(Math.round(n * 1e6) / 1e6);

function rangeOf(text: string): [number, number] | null {
  const parts = text.split("_").map(Number);
  return parts.length === 2 && parts.every(Number.isFinite) && parts[1] > parts[0] ? [parts[0], parts[1]] : null;
}

// Runs of rows are written as one: 3-7.
function packRows(rows: number[]): string {
  const sorted = [...new Set(rows)].sort((a, b) => a - b);
  const runs: string[] = [];
  for (let i = 0; i < sorted.length; i++) {
    let j = i;
    while (j + 1 < sorted.length && sorted[j + 1] === sorted[j] + 1) j++;
    runs.push(j > i ? `${sorted[i]}-${sorted[j]}` : String(sorted[i]));
    i = j;
  }
  return runs.join(".");
}

function unpackRows(text: string): number[] {
  const rows: number[] = [];
  for (const run of text.split(".")) {
    const match = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(run);
    if (!match) continue;
    const last = Math.min(Number(match[2] ?? match[1]), Number(match[1]) + 100000);
    for (let row = Number(match[1]); row <= last; row++) rows.push(row);
  }
  return rows;
}

export function toFragment(view: View): string {
  const out = new URLSearchParams();
  for (const key of Object.keys(EMPTY) as (keyof View)[]) {
    const value = view[key];
    if (JSON.stringify(value) === JSON.stringify(EMPTY[key])) continue;
    if (key === "units") out.set(key, packRows(view.units));
    else if (Array.isArray(value)) out.set(key, (value as number[]).map(trim).join("_"));
    else out.set(key, String(value));
  }
  return out.toString();
}

const CHOICES: Partial<Record<keyof View, string[]>> = {
  time: ["build", "unit"], lanes: ["auto", "units", "packed"], order: ["auto", "start", "cpu"], rows: ["small", "large"], flame: ["down", "up", "phase"], columns: ["main", "all"], of: ["auto", "events", "samples"],
};

export function fromFragment(fragment: string): View {
  const view: View = { ...EMPTY };
  const into = view as unknown as Record<string, unknown>;
  for (const [key, text] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (!Object.hasOwn(EMPTY, key)) continue;
    const name = key as keyof View;
    if (name === "units") view.units = unpackRows(text);
    else if (name === "range" || name === "build" || name === "unitAxis") view[name] = rangeOf(text);
    else if (name === "recording" || name === "thread" || name === "fn") view[name] = /^\d{1,9}$/.test(text) ? Number(text) : EMPTY[name];
    else if (!CHOICES[name] || CHOICES[name]!.includes(text)) into[name] = text;
  }
  return view;
}

type Listener = (changed: Set<keyof View>) => void;

export class State {
  view: View;
  private readonly listeners: Listener[] = [];
  private timer = 0;
  private pending = new Set<keyof View>();

  // Without an address: of a chart that is beside the others.
  constructor(private readonly addressed = true) {
    this.view = addressed ? fromFragment(location.hash) : { ...EMPTY };
    if (!addressed) return;
    addEventListener("hashchange", () => {
      if (location.hash.replace(/^#/, "") !== toFragment(this.view)) this.set(fromFragment(location.hash));
    });
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  // Listeners hear once a frame, whatever happened in it; the address follows when things have come to rest.
  set(change: Partial<View>): void {
    for (const [key, value] of Object.entries(change) as [keyof View, never][]) {
      if (JSON.stringify(this.view[key]) === JSON.stringify(value)) continue;
      this.view = { ...this.view, [key]: value };
      if (this.pending.size === 0) requestAnimationFrame(() => this.tell());
      this.pending.add(key);
    }
  }

  private tell(): void {
    const changed = this.pending;
    this.pending = new Set();
    for (const listener of this.listeners) listener(changed);
    if (!this.addressed) return;
    clearTimeout(this.timer);
    // Who walks from function to function comes back the way that browsers have for that.
    if (changed.has("fn")) this.writeAddress(true);
    else this.timer = window.setTimeout(() => this.writeAddress(), 150);
  }

  writeAddress(isStep = false): void {
    const fragment = toFragment(this.view);
    if (location.hash.replace(/^#/, "") === fragment) return;
    const address = fragment ? `#${fragment}` : location.pathname + location.search;
    if (isStep) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }
}
