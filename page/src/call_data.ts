// Who calls whom (docs/page-data.md): functions with the figures of the report, pairs of a caller and what it calls, and the tree of calls.
// All times are sums of self times: those of a function's callers add up to its time, its own and its callees' as well.
import type { Table } from "./decode";
import type { Model } from "./model";

export interface Source {
  of: "events" | "samples";
  isTime: boolean; // else what was counted instead
  whole: number;
  first: number; // its functions: rows from here on
  end: number;
  left: number; // functions that the page has no room for
  hasTree: boolean;
  nodesLeft: number;
}

export interface Neighbour {
  row: number; // of functions; -1: nobody, it is outermost
  time: number;
  counts: number; // calls, or samples
}

// Those that are not in the page, together.
export interface Rest {
  functions: number;
  time: number;
  counts: number | null; // not known
}

export interface Side {
  list: Neighbour[];
  rest: Rest | null;
}

const rounded = (n: number): number => Math.max(0, Math.round(n * 1e9) / 1e9);

export class Calls {
  readonly sources: Source[] = [];
  readonly self: Float64Array;
  readonly time: Float64Array;
  readonly counts: Float64Array; // calls, or samples
  readonly selfCounts: Float64Array;
  readonly ofItself: Float64Array;
  private readonly table: Table;
  private readonly pairs: Table;
  private readonly pairTime: Float64Array;
  private readonly below: Float64Array;
  private readonly byCaller = new Map<number, number[]>();
  private readonly byCallee = new Map<number, number[]>();
  private names: Map<string, number> | null = null;

  constructor(model: Model) {
    this.table = model.table("call_functions");
    this.pairs = model.table("call_pairs");
    const { table, pairs } = this;
    const of = (t: Table, name: string): Float64Array => both(t, `${name}_s`, `${name}_units`);
    this.self = of(table, "self");
    this.time = of(table, "time");
    this.counts = both(table, "count", "samples");
    this.selfCounts = table.numbers("self_samples");
    this.ofItself = table.numbers("calls_of_itself");
    this.pairTime = of(pairs, "time");
    this.below = of(pairs, "below");
    const [caller, callee] = [pairs.numbers("caller"), pairs.numbers("callee")];
    for (let i = 0; i < pairs.rows; i++) {
      push(this.byCallee, callee[i], i);
      if (!Number.isNaN(caller[i])) push(this.byCaller, caller[i], i);
    }
    this.readSources(model);
  }

  private readSources(model: Model): void {
    let first = 0;
    const about = model.data.header["calls"];
    for (const one of (Array.isArray(about) ? about : []) as Record<string, number | string>[]) {
      const end = first + Number(one["functions"]);
      this.sources.push({
        of: one["of"] === "samples" ? "samples" : "events", isTime: "whole_s" in one, whole: Number(one["whole_s"] ?? one["whole_units"]), first, end,
        left: Number(one["functions_left"]), hasTree: Number(one["nodes"]) > 0, nodesLeft: Number(one["nodes_left"]),
      });
      first = end;
    }
  }

  get known(): boolean {
    return this.table.rows > 0;
  }

  sourceOf(row: number): Source | undefined {
    return this.sources.find((s) => s.first <= row && row < s.end);
  }

  name(row: number): string {
    return row < 0 ? "(outermost)" : this.table.text("function", row) || "(empty)";
  }

  // Without its directory; of what an interpreter called nothing.
  module(row: number): string {
    const path = row < 0 ? "" : (this.table.text("module", row) ?? "");
    return path.slice(path.lastIndexOf("/") + 1);
  }

  // Where it is stands apart in a name that an interpreter gave, "parse (/dir/main.lua:3)": without its whole directory.
  parts(row: number): { name: string; place: string } {
    const name = this.name(row);
    const [, bare, place] = (this.module(row) ? null : /^(.+?) (\(.*\))$/.exec(name)) ?? [];
    if (!place) return { name, place: this.module(row) };
    return { name: bare, place: place.startsWith("(/") ? `(${place.slice(place.lastIndexOf("/") + 1)}` : place };
  }

  kind(row: number): string {
    return row < 0 ? "" : (this.table.text("kind", row) ?? "");
  }

  // Its source, and the line where most of its time was.
  file(row: number): string {
    const [file, line] = [this.table.text("file", row), this.table.number("line", row)];
    return file && line !== null ? `${file}:${line}` : (file ?? "");
  }

  // The largest that is called so; -1.
  find(name: string, source: Source | undefined): number {
    if (!this.names) {
      this.names = new Map();
      for (let row = this.table.rows - 1; row >= 0; row--) this.names.set(`${this.sourceOf(row)?.of}\n${this.name(row)}`, row);
    }
    return this.names.get(`${source?.of}\n${name}`) ?? -1;
  }

  callers(row: number): Side {
    const caller = this.pairs.numbers("caller");
    const counts = both(this.pairs, "count", "samples");
    const list = (this.byCallee.get(row) ?? []).map((i): Neighbour => ({ row: Number.isNaN(caller[i]) ? -1 : caller[i], time: this.pairTime[i], counts: counts[i] }));
    return this.side(list, this.table.numbers("callers")[row], this.time[row], this.counts[row] - (this.ofItself[row] || 0));
  }

  callees(row: number): Side {
    const callee = this.pairs.numbers("callee");
    const isSampled = this.sourceOf(row)?.of === "samples";
    const counts = this.pairs.numbers(isSampled ? "below_samples" : "count");
    const list = (this.byCaller.get(row) ?? []).map((i): Neighbour => ({ row: callee[i], time: this.below[i], counts: counts[i] }));
    return this.side(list, this.table.numbers("callees")[row], this.time[row] - this.self[row], isSampled ? this.counts[row] - this.selfCounts[row] : null);
  }

  private side(list: Neighbour[], all: number, time: number, counts: number | null): Side {
    list.sort((a, b) => b.time - a.time || b.counts - a.counts || a.row - b.row);
    if (list.length >= all) return { list, rest: null };
    const rest = list.reduce((r, n) => ({ time: r.time - n.time, counts: r.counts - n.counts }), { time, counts: counts ?? 0 });
    return { list, rest: { functions: all - list.length, time: rounded(rest.time), counts: counts === null ? null : Math.max(0, rest.counts) } };
  }
}

// The one column for rows of events, the other for those of samples.
function both(table: Table, one: string, other: string): Float64Array {
  if (!table.has(other)) return table.numbers(one);
  if (!table.has(one)) return table.numbers(other);
  const more = table.numbers(other);
  return table.numbers(one).map((n, i) => (Number.isNaN(n) ? more[i] : n));
}

function push(map: Map<number, number[]>, key: number, value: number): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
