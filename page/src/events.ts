// Events of instrumented programs over time: a group for each thread and track, a line a depth, merged like the spans of samples.
import type { TimeAxis } from "./axis";
import { inkOn, oklch, type Rgb } from "./color";
import { cell, el, figure, plainTable, soon, type Cell } from "./dom";
import { count, duration, moment, plural, visible } from "./format";
import { toggled } from "./inside";
import { firstEndingAfter, makeRow, Merger, type Row } from "./lod";
import type { Model } from "./model";
import { hash } from "./palette";
import { BandColors, Raster } from "./raster";
import type { State } from "./state";
import { inks } from "./theme";
import { RULER, TimeChart } from "./timechart";
import { hideTip, showTip } from "./tooltip";

const LINE = 15;
const SPACE = 8;
const HUES = [255, 50, 155, 325, 105, 200, 0]; // one a kind
const SHADES = [0.68, 0.75, 0.82]; // one a label, so that neighbours of a kind are told apart
const LONGEST = 100;

interface EventRow {
  thread: number;
  group: number; // the thread's own, or one of its tracks
  line: number;
  from: number; // places in the order of rows
  to: number;
  top: number;
}

// What does not nest (detached events) lies below what it would hide.
function linesOf(group: Float64Array, depth: Float64Array, start: Float64Array, length: Float64Array): Float64Array {
  const lines = new Float64Array(depth.length);
  const all = new Map<number, number[]>(); // ends of each line of a group
  for (let i = 0; i < depth.length; i++) {
    let ends = all.get(group[i]);
    if (!ends) all.set(group[i], (ends = []));
    let line = depth[i];
    while ((ends[line] ?? -Infinity) > start[i] + 1e-9) line++;
    ends[line] = start[i] + length[i];
    lines[i] = line;
  }
  return lines;
}

export class Events extends TimeChart {
  readonly said = el("p", { class: "scope merged" });
  readonly legend = el("p", { class: "legend" });
  readonly first: number; // when anything happened
  readonly last: number;
  private readonly thread: Float64Array; // of each event, as are the others
  private readonly group: Float64Array; // its thread and track: thread * tracks + track
  private readonly tracks: number;
  private readonly start: Float64Array;
  private readonly end: Float64Array;
  private readonly label: Float64Array;
  private readonly lines: Float64Array;
  private readonly kinds: string[] = [];
  private readonly colorOf: Uint16Array; // of each label
  private readonly colors: Rgb[];
  private readonly raster = new Raster();
  private line: Row = makeRow(1);
  // Of what is selected.
  private order: number[] = []; // events, row by row
  private rows: EventRow[] = [];
  private merger!: Merger;
  private found: boolean[] | null = null; // by label: what is searched for is in it
  private key_ = "";
  private cursor = -1; // place in the order

  constructor(
    private readonly model: Model,
    private readonly state: State,
    private readonly shownTime: TimeAxis,
  ) {
    super(
      "Events of each thread over time. Keys: w and s zoom, a and d move, f fits, up and down choose a line, Shift and left or right go from event to event, Enter finds all that are called the same.",
      (t0, t1) => state.set({ range: [Math.max(0, t0), Math.min(shownTime.last, t1)] }), () => Math.min(innerHeight * 0.6, 1000), "events",
    );
    const table = model.table("events");
    const length = table.numbers("length");
    this.thread = table.numbers("thread");
    this.start = table.numbers("start");
    this.end = this.start.map((t, i) => t + length[i]);
    this.label = table.numbers("label");
    this.tracks = model.table("event_tracks").rows + 1;
    const track = table.numbers("track");
    this.group = this.thread.map((t, i) => t * this.tracks + (Number.isNaN(track[i]) ? 0 : track[i] + 1));
    this.lines = linesOf(this.group, table.numbers("depth"), this.start, length);
    this.first = this.start.reduce((a, b) => Math.min(a, b), Infinity);
    this.last = this.end.reduce((a, b) => Math.max(a, b), 0);
    this.colorOf = this.readKinds();
    this.colors = this.kinds.flatMap((_, i) => SHADES.map((light) => oklch(light, 0.1, HUES[i % HUES.length])));
    this.kinds.forEach((kind, i) => {
      const swatch = el("span", { class: "swatch" });
      const { r, g, b } = this.colors[i * SHADES.length + 1];
      swatch.style.background = `rgb(${r},${g},${b})`;
      this.legend.append(el("span", { class: "key" }, swatch, visible(kind)));
    });
    this.follow(shownTime);
  }

  // Kinds in the order of how much there is of them, and the colour of each label: its kind's hue in one of the shades.
  private readKinds(): Uint16Array {
    const labels = this.model.table("labels");
    const kindOf = (row: number): string => labels.text("kind", row) ?? "";
    const time = new Map<string, number>();
    for (let i = 0; i < this.label.length; i++) time.set(kindOf(this.label[i]), (time.get(kindOf(this.label[i])) ?? 0) + this.end[i] - this.start[i]);
    this.kinds.push(...[...time].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([kind]) => kind));
    return Uint16Array.from({ length: labels.rows }, (_, row) => Math.max(0, this.kinds.indexOf(kindOf(row))) * SHADES.length + (hash(labels.text("label", row) ?? "") % SHADES.length));
  }

  axis(): TimeAxis {
    return this.shownTime;
  }

  refresh(): void {
    const { units, thread, events } = this.state.view;
    const key = JSON.stringify([units, thread, events]);
    if (key !== this.key_) this.choose(key);
    this.layout(this.rows.length ? this.rows[this.rows.length - 1].top + LINE : 0);
    this.pane.invalidate();
  }

  // The events of what is selected, threads in the order of the other charts.
  private choose(key: string): void {
    const { model } = this;
    const { units, thread, events } = this.state.view;
    this.key_ = key;
    this.cursor = -1;
    const rank = new Float64Array(model.threads.count).fill(-1);
    let at = 0;
    for (const unit of model.units) for (const t of unit.threads) if (thread >= 0 ? t === thread : units.length === 0 || units.includes(unit.row)) rank[t] = at++;
    const { start, end, lines } = this;
    const { thread: of, group } = this;
    this.order = Array.from({ length: of.length }, (_, i) => i).filter((i) => rank[of[i]] >= 0).sort((a, b) => rank[of[a]] - rank[of[b]] || group[a] - group[b] || lines[a] - lines[b] || start[a] - start[b] || a - b);
    const labels = model.table("labels");
    const wanted = events.trim().toLowerCase();
    this.found = wanted === "" ? null : Array.from({ length: labels.rows }, (_, row) => `${labels.text("label", row)} ${labels.text("kind", row)}`.toLowerCase().includes(wanted));
    const faded = this.colors.length;
    const { found } = this;
    this.merger = new Merger({
      start: Float64Array.from(this.order, (i) => start[i]), end: Float64Array.from(this.order, (i) => end[i]), phases: Math.max(1, 2 * faded),
      phase: Uint16Array.from(this.order, (i) => this.colorOf[this.label[i]] + (found && !found[this.label[i]] ? faded : 0)),
    });
    this.placeRows();
  }

  private placeRows(): void {
    let top = 0;
    this.rows = [];
    this.order.forEach((event, i) => {
      const row = this.rows[this.rows.length - 1];
      if (row && row.group === this.group[event] && row.line === this.lines[event]) {
        row.to = i + 1;
        return;
      }
      if (row) top += row.group === this.group[event] ? LINE : LINE + SPACE;
      this.rows.push({ thread: this.thread[event], group: this.group[event], line: this.lines[event], from: i, to: i + 1, top });
    });
  }

  private name(event: number): string {
    return this.model.table("labels").text("label", this.label[event]) ?? "";
  }

  protected draw(): void {
    const { pane } = this;
    const { dpr } = pane;
    const gutter = Math.round(this.gutter * dpr);
    const width = Math.max(1, Math.round(pane.width * dpr) - gutter);
    const height = Math.max(1, Math.round((pane.height - RULER) * dpr));
    const dt = (this.shownTime.t1 - this.shownTime.t0) / width;
    if (this.line.phase.length !== width) this.line = makeRow(width);
    const colors = new BandColors([...this.colors, ...this.colors], inks().back, (i) => i >= this.colors.length);
    pane.clear();
    this.drawRuler();
    this.raster.begin(width, height, inks().back);
    let [events, merged] = [0, 0];
    const shown = this.rows.filter((row) => row.top + LINE > this.scrolled && row.top < this.scrolled + pane.height);
    for (const row of shown) {
      this.merger.merge(this.line, row.from, row.to, this.shownTime.t0, dt);
      const top = Math.round((row.top - this.scrolled) * dpr);
      this.raster.band(this.line, colors, 0, width, 0, top, top + Math.round((LINE - 1) * dpr));
      events += this.line.spans;
      merged += this.line.merged;
    }
    this.raster.put(pane.ctx, gutter, Math.round(RULER * dpr));
    for (const row of shown) this.drawNames(row);
    this.drawThreads(shown);
    this.drawCursor();
    this.drawRange(this.state.view.range);
    this.say(events, merged);
  }

  private readonly say = soon(100, (events: number, merged: number) => {
    const { header } = this.model.data;
    const dropped = Number(header.events?.["left_out"] ?? 0);
    const least = Number(header.events?.["shorter_than_s"] ?? 0);
    this.said.textContent = `${plural(events, "event")} in view. ${merged > 0 ? `${count(merged)} of them share a pixel with others, which has the colour of what held most of it. ` : ""}`
      + (dropped > 0 ? `${count(dropped)} events shorter than ${duration(least)} are not in the page, only in the sums.` : "");
  });

  private drawNames(row: EventRow): void {
    const { pane } = this;
    const { start, end, phase } = this.merger.spans;
    const y = RULER + row.top - this.scrolled + LINE / 2;
    if (y < RULER + 6) return;
    pane.font(10.5);
    pane.ctx.textAlign = "left";
    const least = ((this.shownTime.t1 - this.shownTime.t0) / this.plotWidth) * 30;
    let drawn = 0;
    for (let i = firstEndingAfter(end, row.from, row.to, this.shownTime.t0); i < row.to && start[i] < this.shownTime.t1 && drawn < 200; i++) {
      if (end[i] - start[i] < least) continue;
      const a = Math.max(this.gutter, this.x(start[i]));
      const b = Math.min(pane.width, this.x(end[i]));
      const text = pane.fit(visible(this.name(this.order[i])), b - a - 6);
      if (!text) continue;
      pane.ctx.fillStyle = phase[i] < this.colors.length ? inkOn(this.colors[phase[i]]) : inks().muted;
      pane.ctx.fillText(text, a + 3, y);
      drawn++;
    }
  }

  // Its unit at the first line of a thread, its own name at the next, or beside it where there is but one.
  private drawThreads(rows: EventRow[]): void {
    const { pane, model } = this;
    const { back, text, muted } = inks();
    pane.ctx.fillStyle = `rgb(${back.r},${back.g},${back.b})`;
    pane.ctx.fillRect(0, RULER, this.gutter, pane.height);
    pane.ctx.textAlign = "left";
    const put = (name: string, x: number, y: number, isHead: boolean): void => {
      pane.font(isHead ? 12 : 11, isHead ? 600 : 400);
      pane.ctx.fillStyle = isHead ? text : muted;
      pane.ctx.fillText(pane.fit(visible(name), this.gutter - 10 - x), x, y);
    };
    rows.forEach((row, i) => {
      const y = RULER + row.top - this.scrolled + LINE / 2;
      if (y < RULER + 6 || rows[i - 1]?.group === row.group) return;
      const unit = model.units[model.threads.unit[row.thread]];
      const isFirst = i === 0 || model.threads.unit[rows[i - 1].thread] !== model.threads.unit[row.thread];
      if (isFirst) put(unit?.name ?? "", 0, y, true);
      if (!isFirst) put(this.title(row.thread, row.group), 10, y, false);
      else if (rows[i + 1]?.group === row.group) put(this.title(row.thread, row.group), 10, y + LINE, false);
    });
  }

  private title(thread: number, group: number): string {
    const track = (group % this.tracks) - 1;
    return (track >= 0 ? this.model.table("event_tracks").text("name", track) : null) || this.model.threadTitle(thread);
  }

  private drawCursor(): void {
    const row = this.rowOf(this.cursor);
    if (!row || document.activeElement !== this.pane.canvas) return;
    const y = RULER + row.top - this.scrolled;
    if (y < RULER - 2) return;
    const { ctx } = this.pane;
    const a = Math.max(this.gutter, this.x(this.merger.spans.start[this.cursor]));
    ctx.strokeStyle = inks().mark;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(a, y - 0.5, Math.max(2, this.x(this.merger.spans.end[this.cursor]) - a), LINE);
  }

  private rowOf(place: number): EventRow | undefined {
    return place < 0 ? undefined : this.rows.find((row) => row.from <= place && place < row.to);
  }

  private rowAt(y: number): EventRow | undefined {
    const at = y - RULER + this.scrolled;
    return y > RULER ? this.rows.find((row) => row.top <= at && at < row.top + LINE) : undefined;
  }

  private placeAt(x: number, y: number): number {
    const row = x > this.gutter ? this.rowAt(y) : undefined;
    if (!row) return -1;
    const t = this.time(x);
    const { start, end } = this.merger.spans;
    const slack = (this.shownTime.t1 - this.shownTime.t0) / this.plotWidth / 2;
    const i = firstEndingAfter(end, row.from, row.to, t - slack);
    return i >= row.to || start[i] > t + slack ? -1 : i;
  }

  protected override hover(x: number, y: number, client: { x: number; y: number }): void {
    const place = this.placeAt(x, y);
    if (place < 0) hideTip();
    else this.describe(place, client);
  }

  private describe(place: number, client: { x: number; y: number }): void {
    const event = this.order[place];
    const { start, end, thread } = this;
    const color = this.colorOf[this.label[event]];
    const { r, g, b } = this.colors[color];
    const unit = this.model.units[this.model.threads.unit[thread[event]]];
    showTip(visible(this.name(event)), [
      ["kind", visible(this.kinds[Math.floor(color / SHADES.length)] ?? "")], ["from", moment(start[event])], ["to", moment(end[event])], ["lasted", duration(end[event] - start[event])],
      ["thread", visible(`${this.title(thread[event], this.group[event])}${unit ? ` of ${unit.name}` : ""}`)],
    ], client.x, client.y, `rgb(${r},${g},${b})`);
  }

  protected override click(x: number, y: number, event: PointerEvent): void {
    const row = this.rowAt(y);
    if (!row) return;
    const unit = this.model.units[this.model.threads.unit[row.thread]];
    if (x < this.gutter) {
      if (unit && unit.row >= 0) this.state.set({ units: toggled(this.state.view.units, unit.row, event.ctrlKey || event.metaKey || event.shiftKey) });
      return;
    }
    this.find(this.placeAt(x, y));
  }

  // All that are called the same; once more, or nothing: everything again.
  private find(place: number): void {
    const name = place < 0 ? "" : this.name(this.order[place]);
    this.state.set({ events: name === this.state.view.events ? "" : name });
  }

  protected override key(event: KeyboardEvent): boolean {
    const { key, shiftKey } = event;
    if (key === "ArrowDown" || key === "ArrowUp") this.step(key === "ArrowDown" ? 1 : -1);
    else if (shiftKey && (key === "ArrowLeft" || key === "ArrowRight")) {
      const row = this.rowOf(this.cursor);
      if (row) this.moveTo(Math.max(row.from, Math.min(row.to - 1, this.cursor + (key === "ArrowRight" ? 1 : -1))), row);
    } else if (key === "Enter" && this.cursor >= 0) this.find(this.cursor);
    else return super.key(event);
    return true;
  }

  // To the next line: the first that is inside of this event, or what this one is inside of.
  private step(by: number): void {
    const { start, end } = this.merger.spans;
    const now = this.rowOf(this.cursor);
    const row = this.rows[now ? Math.max(0, Math.min(this.rows.length - 1, this.rows.indexOf(now) + by)) : 0];
    if (!row) return;
    const t = now ? start[this.cursor] : this.shownTime.t0;
    this.moveTo(Math.min(row.to - 1, firstEndingAfter(end, row.from, row.to, t)), row);
  }

  private moveTo(place: number, row: EventRow): void {
    this.cursor = place;
    const { start, end } = this.merger.spans;
    const middle = (start[place] + end[place]) / 2;
    const axis = this.shownTime;
    if (start[place] > axis.t1 || end[place] < axis.t0) axis.pan((middle - (axis.t0 + axis.t1) / 2) / (axis.t1 - axis.t0));
    if (row.top < this.scrolled || row.top + LINE > this.scrolled + this.pane.height - RULER) this.scroller.scrollTo({ top: row.top - this.pane.height / 2 });
    this.pane.invalidate();
    const box = this.pane.canvas.getBoundingClientRect();
    this.describe(place, { x: box.left + Math.max(this.gutter, Math.min(this.pane.width - 20, this.x(middle))), y: box.top + RULER + row.top - this.scrolled + LINE });
  }

  asTable(): HTMLElement {
    const wanted = (i: number): boolean => !this.found || this.found[this.label[i]];
    const longest = this.order.filter(wanted).sort((a, b) => this.end[b] - this.start[b] - (this.end[a] - this.start[a]) || a - b).slice(0, LONGEST);
    const labels = this.model.table("labels");
    return plainTable(null, [cell("event"), cell("kind"), cell("thread"), figure("from"), figure("lasted")], longest.map((i): Cell[] => [
      cell(visible(this.name(i))), cell(visible(labels.text("kind", this.label[i]) ?? "")), cell(visible(this.title(this.thread[i], this.group[i]))), figure(moment(this.start[i])), figure(duration(this.end[i] - this.start[i])),
    ]));
  }
}
