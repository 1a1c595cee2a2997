// Events of instrumented programs over time: a group a thread, a line a depth, merged like the spans of samples.
import { TimeAxis } from "./axis";
import { inkOn, oklch, type Rgb } from "./color";
import { el } from "./dom";
import { count, duration, moment, plural, visible } from "./format";
import { firstEndingAfter, makeRow, Merger, type Row } from "./lod";
import type { Model } from "./model";
import { BandColors, Raster } from "./raster";
import { inks } from "./theme";
import { RULER, TimeChart } from "./timechart";
import { hideTip, showTip } from "./tooltip";

const LINE = 15;
const SPACE = 8;

interface EventRow {
  thread: number;
  depth: number;
  from: number; // rows of order
  to: number;
  top: number;
}

// What does not nest (detached events, tracks) lies below what it would hide.
function linesOf(thread: Float64Array, depth: Float64Array, start: Float64Array, length: Float64Array): Float64Array {
  const lines = new Float64Array(depth.length);
  let ends: number[] = []; // of each line of the thread
  for (let i = 0; i < depth.length; i++) {
    if (i > 0 && thread[i] !== thread[i - 1]) ends = [];
    let line = depth[i];
    while ((ends[line] ?? -Infinity) > start[i] + 1e-9) line++;
    ends[line] = start[i] + length[i];
    lines[i] = line;
  }
  return lines;
}

export class Events extends TimeChart {
  readonly said = el("p", { class: "scope" });
  private readonly shownTime: TimeAxis;
  private readonly rows: EventRow[] = [];
  private readonly merger: Merger;
  private readonly label: Float64Array; // of each event, in the order of rows
  private readonly kinds: string[] = [];
  private readonly colors: Rgb[];
  private readonly raster = new Raster();
  private line: Row = makeRow(1);

  constructor(private readonly model: Model) {
    super("Events of each thread over time. Keys: w and s zoom, a and d move, f fits.", null, () => Math.min(innerHeight * 0.6, 1000), "events");
    const table = model.table("events");
    const thread = table.numbers("thread");
    const start = table.numbers("start");
    const length = table.numbers("length");
    const depth = linesOf(thread, table.numbers("depth"), start, length);
    const order = Array.from({ length: table.rows }, (_, i) => i).sort((a, b) => thread[a] - thread[b] || depth[a] - depth[b] || start[a] - start[b] || a - b);
    const label = table.numbers("label");
    this.label = Float64Array.from(order, (i) => label[i]);
    const kind = this.kindsOf();
    const spans = {
      start: Float64Array.from(order, (i) => start[i]), end: Float64Array.from(order, (i) => start[i] + length[i]),
      phase: Uint16Array.from(order, (i) => kind(label[i])), phases: Math.max(1, this.kinds.length),
    };
    this.merger = new Merger(spans);
    this.colors = this.kinds.map((_, i) => oklch(0.74 - 0.06 * (i % 3), 0.11, (250 + i * 137.5) % 360));
    const [first, last] = this.placeRows(order, thread, depth, spans.start, spans.end);
    this.shownTime = new TimeAxis(last > first ? last : model.elapsed);
    if (first > last * 0.2) this.shownTime.set(first, last, false);
    this.follow(this.shownTime);
  }

  private placeRows(order: number[], thread: Float64Array, depth: Float64Array, start: Float64Array, end: Float64Array): [number, number] {
    let top = 0;
    let [first, last] = [Infinity, 0];
    order.forEach((event, i) => {
      const row = this.rows[this.rows.length - 1];
      first = Math.min(first, start[i]);
      last = Math.max(last, end[i]);
      if (row && row.thread === thread[event] && row.depth === depth[event]) row.to = i + 1;
      else {
        if (row) top += row.thread === thread[event] ? LINE : LINE + SPACE;
        this.rows.push({ thread: thread[event], depth: depth[event], from: i, to: i + 1, top });
      }
    });
    this.content = top + LINE;
    return [first, last];
  }

  private kindsOf(): (label: number) => number {
    const labels = this.model.table("labels");
    const byLabel = new Map<number, number>();
    const numbers = new Map<string, number>();
    for (let row = 0; row < labels.rows; row++) {
      const kind = labels.text("kind", row) ?? "";
      let at = numbers.get(kind);
      if (at === undefined) {
        at = this.kinds.push(kind) - 1;
        numbers.set(kind, at);
      }
      byLabel.set(row, at);
    }
    return (label) => byLabel.get(label) ?? 0;
  }

  axis(): TimeAxis {
    return this.shownTime;
  }

  refresh(): void {
    this.layout(this.content);
  }

  private name(i: number): string {
    return this.model.table("labels").text("label", this.label[i]) ?? "";
  }

  protected draw(): void {
    const { pane } = this;
    const { dpr } = pane;
    const gutter = Math.round(this.gutter * dpr);
    const width = Math.max(1, Math.round(pane.width * dpr) - gutter);
    const height = Math.max(1, Math.round((pane.height - RULER) * dpr));
    const dt = (this.shownTime.t1 - this.shownTime.t0) / width;
    if (this.line.phase.length !== width) this.line = makeRow(width);
    const colors = new BandColors(this.colors, inks().back, () => false);
    pane.clear();
    this.drawRuler();
    this.raster.begin(width, height, inks().back);
    let [events, merged] = [0, 0];
    const names: EventRow[] = [];
    for (const row of this.visibleRows()) {
      this.merger.merge(this.line, row.from, row.to, this.shownTime.t0, dt);
      const top = Math.round((row.top - this.scrolled) * dpr);
      this.raster.band(this.line, colors, 0, width, 0, top, top + Math.round((LINE - 1) * dpr));
      events += this.line.spans;
      merged += this.line.merged;
      names.push(row);
    }
    this.raster.put(pane.ctx, gutter, Math.round(RULER * dpr));
    for (const row of names) this.drawNames(row);
    this.drawThreads(names);
    const dropped = Number(this.model.data.header.events?.["left_out"] ?? 0);
    const least = Number(this.model.data.header.events?.["shorter_than_s"] ?? 0);
    this.said.textContent = `${plural(events, "event")} in view. ${merged > 0 ? `${count(merged)} of them share a pixel with others, which shows the kind that held most of it. ` : ""}`
      + (dropped > 0 ? `${count(dropped)} events shorter than ${duration(least)} are not in the page.` : "");
  }

  private visibleRows(): EventRow[] {
    return this.rows.filter((row) => row.top + LINE > this.scrolled && row.top < this.scrolled + this.pane.height);
  }

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
      const text = pane.fit(visible(this.name(i)), b - a - 6);
      if (!text) continue;
      pane.ctx.fillStyle = inkOn(this.colors[phase[i]]);
      pane.ctx.fillText(text, a + 3, y);
      drawn++;
    }
  }

  private drawThreads(rows: EventRow[]): void {
    const { pane, model } = this;
    const { back, text } = inks();
    pane.ctx.fillStyle = `rgb(${back.r},${back.g},${back.b})`;
    pane.ctx.fillRect(0, RULER, this.gutter, pane.height);
    pane.font(12, 600);
    pane.ctx.fillStyle = text;
    pane.ctx.textAlign = "left";
    let last = -1;
    for (const row of rows) {
      const y = RULER + row.top - this.scrolled + LINE / 2;
      if (row.thread === last || y < RULER + 6) continue;
      last = row.thread;
      const unit = model.units[model.threads.unit[row.thread]];
      pane.ctx.fillText(pane.fit(visible(`${unit?.name ?? ""} ${model.threadName(row.thread)}`.trim()), this.gutter - 10), 0, y);
    }
  }

  protected override hover(x: number, y: number, client: { x: number; y: number }): void {
    const at = y - RULER + this.scrolled;
    const row = y > RULER && x > this.gutter ? this.rows.find((r) => r.top <= at && at < r.top + LINE) : undefined;
    if (!row) return hideTip();
    const t = this.time(x);
    const { start, end, phase } = this.merger.spans;
    const slack = (this.shownTime.t1 - this.shownTime.t0) / this.plotWidth / 2;
    const i = firstEndingAfter(end, row.from, row.to, t - slack);
    if (i >= row.to || start[i] > t + slack) return hideTip();
    showTip(visible(this.name(i)), [
      ["kind", visible(this.kinds[phase[i]] ?? "")], ["from", moment(start[i])], ["to", moment(end[i])], ["lasted", duration(end[i] - start[i])],
      ["thread", visible(this.model.threadName(row.thread))],
    ], client.x, client.y);
  }
}
