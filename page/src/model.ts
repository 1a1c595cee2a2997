// A recording as the charts need it: units, their threads, and the spans of each thread.
import { css, type Rgb } from "./color";
import { Data, type Json, type Table } from "./decode";
import { Merger, type Spans } from "./lod";
import { phaseColor, phaseRank, segmentColor } from "./palette";

export interface Phase {
  id: number;
  segment: string;
  name: string;
  key: string; // segment/phase: how a link names it
  color: Rgb;
  css: string;
  rank: number;
}

export interface Unit {
  row: number; // of the table; -1: processes that are no units
  name: string;
  kind: string;
  start: number;
  end: number;
  threads: number[]; // rows of threads, the serial one first
  process: number;
}

export interface Threads {
  count: number;
  unit: Int32Array; // index into units
  start: Float64Array;
  end: Float64Array;
  first: Uint32Array; // spans of thread i: first[i] .. first[i + 1]
}

export interface SpanFacts {
  role: Float64Array;
  cgu: Float64Array;
  samples: Float64Array;
  cpu: Float64Array;
}

const TITLE_LENGTH = 120;

export class Model {
  readonly phases: Phase[];
  readonly segments: { name: string; color: Rgb; css: string }[];
  readonly segmentOf: Uint8Array; // of each phase
  readonly units: Unit[]; // in order of start; those that are no units last
  readonly unitOfRow = new Map<number, number>();
  readonly threads: Threads;
  readonly spans: Spans;
  readonly merger: Merger;
  readonly elapsed: number;
  private spanFacts: SpanFacts | null = null;

  constructor(
    readonly data: Data,
    readonly number: number, // of several on one page
  ) {
    const header = data.header;
    this.segments = (header.segments ?? []).map((name) => ({ name, color: segmentColor(name), css: css(segmentColor(name)) }));
    this.phases = (header.phases ?? []).map(({ segment, name }, id) => {
      const family = this.segments[segment]?.name ?? "unknown";
      const color = phaseColor(family, name);
      return { id, segment: family, name, key: `${family}/${name}`, color, css: css(color), rank: phaseRank(family, name) };
    });
    this.segmentOf = Uint8Array.from(header.phases ?? [], (p) => p.segment);
    this.threads = this.readThreads();
    this.spans = this.readSpans();
    this.merger = new Merger(this.spans);
    this.units = this.readUnits();
    this.elapsed = this.readElapsed();
  }

  get session(): Record<string, Json> {
    return this.data.header.session ?? {};
  }

  get coverage(): Record<string, Json> {
    return this.data.header.coverage ?? {};
  }

  // Of programs that record their own events, and nothing else: there was nobody who could have sampled them or accounted for them.
  // What was run, short enough for a heading: of a program that recorded itself, or a compiler's self-profile, without the directory
  // that it lies in; the whole command stands below the heading where this is less.
  get title(): string {
    const whole = String(this.session["command"] ?? this.name);
    const command = this.isOfEvents ? whole.replace(/^\/\S*\/(?=\S)/, "") : whole;
    return command.length <= TITLE_LENGTH ? command : `${[...command].slice(0, TITLE_LENGTH - 1).join("")}…`;
  }

  get isOfEvents(): boolean {
    return (this.data.has("activities") || this.data.has("events")) && !this.coverage["samples"] && typeof this.coverage["process_cpu_s"] !== "number";
  }

  // One compiler's profile of itself is no build.
  get hasBuild(): boolean {
    return this.unitTable.rows > (this.isOfEvents ? 1 : 0);
  }

  // Whether phases say something: of a program that compiles nothing most is unknown to all markers.
  get hasPhases(): boolean {
    if (this.unitTable.rows > 0) return true;
    const table = this.table("segments");
    const cpu = table.numbers("cpu_s");
    let [known, all] = [0, 0];
    for (let row = 0; row < table.rows; row++) {
      const segment = table.text("segment", row);
      all += cpu[row] || 0;
      if (segment !== "unknown" && segment !== "process") known += cpu[row] || 0;
    }
    return known > 0 && known >= all / 2;
  }

  get name(): string {
    return this.data.header.name ?? "recording";
  }

  table(name: string): Table {
    return this.data.table(name);
  }

  get unitTable(): Table {
    return this.data.table("units");
  }

  // What few look at is decoded when they do.
  facts(): SpanFacts {
    const table = this.table("spans");
    this.spanFacts ??= { role: table.once("role"), cgu: table.once("cgu"), samples: table.once("samples"), cpu: table.once("cpu") };
    return this.spanFacts;
  }

  // And no process beside them.
  isUnit(index: number): boolean {
    return (this.units[index]?.row ?? -1) >= 0;
  }

  private readThreads(): Threads {
    const table = this.table("threads");
    const count = table.rows;
    const perThread = table.numbers("spans");
    const first = new Uint32Array(count + 1);
    for (let i = 0; i < count; i++) first[i + 1] = first[i] + (perThread[i] || 0);
    return { count, unit: new Int32Array(count).fill(-1), start: table.numbers("start_s"), end: table.numbers("end_s").slice(), first };
  }

  private readSpans(): Spans {
    const table = this.table("spans");
    const quantum = Number(this.data.header.spans?.["quantum_s"] ?? 1e-6);
    const per = Math.round(1 / quantum);
    const gap = table.once("gap");
    const length = table.once("length");
    const start = new Float64Array(table.rows);
    const end = new Float64Array(table.rows);
    for (let t = 0; t < this.threads.count; t++) {
      let at = Math.round(this.threads.start[t] * per);
      for (let i = this.threads.first[t]; i < this.threads.first[t + 1]; i++) {
        at += Math.round(gap[i] * per);
        start[i] = at / per;
        at += Math.round(length[i] * per);
        end[i] = at / per;
      }
      if (Number.isNaN(this.threads.end[t])) this.threads.end[t] = at / per;
    }
    return { start, end, phase: Uint16Array.from(table.once("phase")), phases: Math.max(1, this.phases.length) };
  }

  private readUnits(): Unit[] {
    const table = this.unitTable;
    const process = table.numbers("process");
    const start = table.numbers("start_s");
    const end = table.numbers("end_s");
    const units: Unit[] = [];
    for (let row = 0; row < table.rows; row++) {
      const from = start[row] || 0;
      units.push({
        row, name: table.text("unit", row) ?? `unit ${row + 1}`, kind: table.text("kind", row) ?? "", start: from,
        end: Number.isNaN(end[row]) ? Number(this.session["elapsed_s"] ?? from) : end[row], threads: [], process: process[row],
      });
    }
    units.sort((a, b) => a.start - b.start || a.row - b.row);
    units.forEach((unit, i) => this.unitOfRow.set(unit.row, i));
    this.giveThreads(units);
    return units;
  }

  // Each thread to its unit; processes that are no units (the build tool, shells) stand for themselves, behind all units.
  private giveThreads(units: Unit[]): void {
    const processes = this.table("processes");
    const unitRow = processes.numbers("unit_row");
    const start = processes.numbers("start_s");
    const end = processes.numbers("end_s");
    const ofThread = this.table("threads").numbers("process");
    const others = new Map<number, number>();
    for (let t = 0; t < this.threads.count; t++) {
      const p = ofThread[t];
      let unit = this.unitOfRow.get(unitRow[p]);
      if (unit === undefined) {
        unit = others.get(p);
        if (unit === undefined) {
          unit = units.length;
          others.set(p, unit);
          const exe = processes.text("exe", p) ?? "process";
          units.push({
            row: -1, name: exe.slice(exe.lastIndexOf("/") + 1), kind: "process", start: start[p] || 0,
            end: Number.isNaN(end[p]) ? Number(this.session["elapsed_s"] ?? 0) : end[p], threads: [], process: p,
          });
        }
      }
      this.threads.unit[t] = unit;
      units[unit].threads.push(t);
    }
    this.orderThreads(units);
  }

  private orderThreads(units: Unit[]): void {
    const table = this.table("threads");
    const role = table.numbers("role");
    const main = table.numbers("main");
    const { start } = this.threads;
    const rank = (t: number): number => {
      const name = Number.isNaN(role[t]) ? "" : this.data.word(table.type("role"), role[t]);
      return name === "serial" ? 0 : main[t] ? 1 : name === "coordinator" ? 2 : 3;
    };
    for (const unit of units) {
      const ranks = new Map(unit.threads.map((t) => [t, rank(t)]));
      unit.threads.sort((a, b) => ranks.get(a)! - ranks.get(b)! || start[a] - start[b] || a - b);
      // Helpers that a compiler starts bear its thread's name: the one that worked is the one to look at.
      const serial = unit.threads.filter((t) => ranks.get(t) === 0);
      if (serial.length < 2) continue;
      const busiest = serial.reduce((a, b) => (this.spansOf(b) > this.spansOf(a) ? b : a));
      unit.threads = [busiest, ...unit.threads.filter((t) => t !== busiest && ranks.get(t) !== 0), ...serial.filter((t) => t !== busiest)];
    }
  }

  private spansOf(t: number): number {
    return this.threads.first[t + 1] - this.threads.first[t];
  }

  private readElapsed(): number {
    let last = Number(this.session["elapsed_s"] ?? 0);
    for (const unit of this.units) last = Math.max(last, unit.end);
    for (let t = 0; t < this.threads.count; t++) last = Math.max(last, this.threads.end[t] || 0);
    return last > 0 ? last : 1;
  }

  threadName(t: number): string {
    return this.table("threads").text("name", t) ?? "thread";
  }

  // "opt cgu.03", or the role alone, or the thread's name.
  threadTitle(t: number): string {
    const role = this.table("threads").text("role", t) ?? "";
    const name = this.threadName(t);
    if (role === "serial" && this.units[this.threads.unit[t]]?.threads[0] !== t) return `${name} (helper)`;
    if (role === "process" && !this.hasBuild && name !== "") return name;
    return role === "" || role === "other" ? name : role === "serial" || role === "process" || name === "" ? role : name.startsWith(role) ? name : `${role} · ${name}`;
  }
}
