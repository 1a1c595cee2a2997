// Inside the compiler over time: a row a thread, a band a span.
import { TimeAxis } from "./axis";
import { inkOn, type Rgb } from "./color";
import { count, duration, moment, percent, plural, visible } from "./format";
import { insideRows, rowAt, type InsideRows } from "./inside_rows";
import { firstEndingAfter, firstStartingFrom, makeRow, NOTHING, type Row } from "./lod";
import type { Model } from "./model";
import { BandColors, Raster } from "./raster";
import { orderOf, type State, type View } from "./state";
import { inks } from "./theme";
import { RULER, TimeChart } from "./timechart";
import { hideTip, showTip, type TipLine } from "./tooltip";

const HEIGHTS = { small: 6, large: 17 };

export interface Shown {
  rows: number;
  allRows: number;
  spans: number;
  merged: number;
}

export class Inside extends TimeChart {
  rows: InsideRows;
  onDrawn: ((shown: Shown) => void) | null = null;
  private line: Row = makeRow(1);
  private readonly raster = new Raster();
  private colors: BandColors | null = null;
  private colorKey = "";
  private cursor = -1; // row under the keyboard

  constructor(
    private readonly model: Model,
    private readonly state: State,
    private readonly build: TimeAxis,
    private readonly perUnit: TimeAxis,
  ) {
    super(
      "Phases of every thread over time. Keys: w and s zoom, a and d move, up and down choose a thread, left and right a band, f fits.",
      (t0, t1, done) => this.choose(t0, t1, done),
      () => Math.min(innerHeight * 0.72, 1400),
      "inside",
    );
    this.rows = insideRows(model, [], HEIGHTS.small);
    this.follow(build);
    this.follow(perUnit);
    this.refresh();
  }

  axis(): TimeAxis {
    return this.state.view.time === "unit" ? this.perUnit : this.build;
  }

  refresh(): void {
    const { view } = this.state;
    const { model } = this;
    const units = view.units.length ? view.units.map((row) => model.unitOfRow.get(row)).filter((u) => u !== undefined) : model.units.map((_, i) => i);
    units.sort(orderOf(view, model.unitTable.rows) === "start" ? (a, b) => a - b : (a, b) => this.cpu(b) - this.cpu(a) || a - b);
    this.rows = insideRows(model, units, HEIGHTS[view.rows]);
    this.cursor = Math.min(this.cursor, this.rows.thread.length - 1);
    this.layout(this.rows.total);
  }

  // What is no unit comes last either way.
  private cpu(unit: number): number {
    const { row } = this.model.units[unit];
    return row < 0 ? -1 : (this.model.unitTable.number("cpu_s", row) ?? 0);
  }

  scrollToThread(t: number): void {
    const row = this.rows.thread.indexOf(t);
    if (row >= 0) this.scroller.scrollTo({ top: Math.max(0, this.rows.top[row] - this.pane.height / 3) });
  }

  // When a row's time begins on the axis.
  private origin(row: number): number {
    return this.state.view.time === "unit" ? this.model.units[this.rows.unit[row]].start : 0;
  }

  private choose(t0: number, t1: number, done: boolean): void {
    if (this.state.view.time === "unit") return;
    const range: [number, number] = [Math.max(0, t0), Math.min(this.model.elapsed, t1)];
    if (!done || range[1] > range[0]) this.state.set({ range });
  }

  private bandColors(view: View): BandColors {
    const ink = inks();
    const key = `${ink.dark}${view.phase}`;
    if (!this.colors || key !== this.colorKey) {
      const colors: Rgb[] = this.model.phases.map((p) => p.color);
      const fades = (i: number): boolean => view.phase !== "" && !matches(this.model.phases[i], view.phase);
      this.colors = new BandColors(colors, ink.row, fades);
      this.colorKey = key;
    }
    return this.colors;
  }

  protected draw(): void {
    const { pane, model, rows } = this;
    const { dpr } = pane;
    const axis = this.axis();
    const gutter = Math.round(this.gutter * dpr);
    const width = Math.max(1, Math.round(pane.width * dpr) - gutter);
    const height = Math.round(pane.height * dpr);
    const rulerPx = Math.round(RULER * dpr);
    const dt = (axis.t1 - axis.t0) / width;
    if (this.line.phase.length !== width) this.line = makeRow(width);
    const colors = this.bandColors(this.state.view);
    const shown: Shown = { rows: 0, allRows: rows.thread.length, spans: 0, merged: 0 };
    pane.clear();
    this.drawRuler();
    this.raster.begin(width, Math.max(1, height - rulerPx), inks().back);
    const first = Math.max(0, rowAt(rows, this.scrolled));
    const bottom = this.scrolled + pane.height - RULER;
    let last = first;
    for (; last < rows.thread.length && rows.top[last] < bottom; last++) {
      const t = rows.thread[last];
      const zero = axis.t0 + this.origin(last);
      model.merger.merge(this.line, model.threads.first[t], model.threads.first[t + 1], zero, dt);
      const top = Math.round((rows.top[last] - this.scrolled) * dpr);
      const end = Math.round((rows.top[last] + rows.height - 1 - this.scrolled) * dpr);
      const from = Math.floor((model.threads.start[t] - zero) / dt);
      const to = Math.ceil((model.threads.end[t] - zero) / dt);
      this.raster.band(this.line, colors, from, Math.max(to, from + 1), 0, top, end);
      shown.rows++;
      shown.spans += this.line.spans;
      shown.merged += this.line.merged;
      if (rows.height >= 15) this.pending.push({ row: last, runs: runsOf(this.line, 34 * dpr) });
    }
    this.raster.put(pane.ctx, gutter, rulerPx);
    this.labels(first, last);
    this.drawBandNames();
    this.drawCursor();
    if (this.state.view.time === "build") this.drawRange(this.state.view.range);
    this.onDrawn?.(shown);
  }

  private pending: { row: number; runs: Run[] }[] = [];

  // Phase names inside bands that have room for them.
  private drawBandNames(): void {
    const { pane, model, rows } = this;
    if (this.pending.length === 0) return;
    pane.font(10.5);
    pane.ctx.textAlign = "left";
    for (const { row, runs } of this.pending) {
      const y = RULER + rows.top[row] - this.scrolled + (rows.height - 1) / 2 + 0.5;
      if (y < RULER + 6) continue;
      for (const run of runs) {
        const phase = model.phases[run.phase];
        const text = pane.fit(phase.name, (run.to - run.from) / pane.dpr - 8);
        if (text !== phase.name) continue;
        pane.ctx.fillStyle = inkOn(phase.color);
        pane.ctx.fillText(text, this.gutter + run.from / pane.dpr + 4, y);
      }
    }
    this.pending = [];
  }

  // Names in the gutter: none above another.
  private labels(first: number, last: number): void {
    const { pane, model, rows } = this;
    const { text, muted, back } = inks();
    const { ctx } = pane;
    ctx.fillStyle = `rgb(${back.r},${back.g},${back.b})`;
    ctx.fillRect(0, RULER, this.gutter, pane.height);
    ctx.textAlign = "left";
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, RULER, this.gutter, pane.height - RULER);
    ctx.clip();
    let free = -Infinity;
    for (let row = first; row < last; row++) {
      const head = rows.head[row] === 1 || row === first;
      if (!head && rows.height < 13) continue;
      const y = RULER + rows.top[row] - this.scrolled + rows.height / 2 + (rows.height < 13 && head ? 3 : 0);
      if (y - 7 < free || y < RULER + 4) continue;
      pane.font(head ? 12 : 11, head ? 600 : 400);
      const unit = model.units[rows.unit[row]];
      ctx.fillStyle = head ? text : muted;
      const name = visible(head ? unit.name : model.threadTitle(rows.thread[row]));
      ctx.fillText(pane.fit(name, this.gutter - (head ? 10 : 20)), head ? 0 : 10, y);
      free = y + 7;
    }
    ctx.restore();
  }

  private drawCursor(): void {
    if (this.cursor < 0 || document.activeElement !== this.pane.canvas) return;
    const y = RULER + this.rows.top[this.cursor] - this.scrolled;
    if (y < RULER - 2) return;
    const { ctx } = this.pane;
    ctx.strokeStyle = inks().mark;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(0.75, y - 1.5, this.pane.width - 1.5, this.rows.height + 2);
  }

  protected override hover(x: number, y: number, client: { x: number; y: number }): void {
    const row = y > RULER ? rowAt(this.rows, y - RULER + this.scrolled) : -1;
    if (row < 0 || y - RULER + this.scrolled > this.rows.top[row] + this.rows.height) return hideTip();
    this.describe(row, x < this.gutter ? null : this.time(x), client);
  }

  // Unit, thread and what is there at that pixel.
  private describe(row: number, t: number | null, client: { x: number; y: number }): void {
    const { model } = this;
    const thread = this.rows.thread[row];
    const unit = model.units[this.rows.unit[row]];
    const lines: TipLine[] = [["thread", `${visible(model.threadTitle(thread))} (${model.table("threads").number("tid", thread) ?? "?"})`]];
    const [from, to] = [model.threads.first[thread], model.threads.first[thread + 1]];
    if (t === null) {
      lines.push(["lived", `${moment(model.threads.start[thread])} to ${moment(model.threads.end[thread])}`], ["spans", count(to - from)]);
      showTip(visible(unit.name), lines, client.x, client.y);
      return;
    }
    const dt = (this.axis().t1 - this.axis().t0) / (this.plotWidth * this.pane.dpr);
    const at = t + this.origin(row);
    const a = firstEndingAfter(model.spans.end, from, to, at - dt / 2);
    const b = firstStartingFrom(model.spans.start, a, to, at + dt / 2);
    if (a >= b) {
      const { start, end } = model.threads;
      lines.push(["at", moment(at)], ["here", at < start[thread] ? "not started" : at > end[thread] ? "ended" : "no sample: it waited, or was done"]);
      showTip(visible(unit.name), lines, client.x, client.y);
    } else if (b - a > 2) this.describeMany(unit.name, lines, a, b, [at - dt / 2, at + dt / 2], client);
    else this.describeSpan(unit.name, lines, this.nearest(a, b, at), client);
  }

  private nearest(a: number, b: number, at: number): number {
    const { start, end } = this.model.spans;
    for (let i = a; i < b; i++) if (start[i] <= at && end[i] > at) return i;
    return a;
  }

  private describeSpan(title: string, lines: TipLine[], i: number, client: { x: number; y: number }): void {
    const { model } = this;
    const facts = model.facts();
    const phase = model.phases[model.spans.phase[i]];
    const [start, end] = [model.spans.start[i], model.spans.end[i]];
    if (!Number.isNaN(facts.cgu[i])) lines.push(["codegen unit", visible(model.data.word("text", facts.cgu[i]))]);
    lines.push(
      ["phase", `${phase.segment} › ${phase.name}`], ["from", moment(start)], ["to", moment(end)], ["lasted", duration(end - start)],
      ["samples", `${count(facts.samples[i])}, ${duration(facts.cpu[i])} of CPU`],
    );
    showTip(visible(title), lines, client.x, client.y, phase.css);
  }

  private describeMany(title: string, lines: TipLine[], a: number, b: number, pixel: [number, number], client: { x: number; y: number }): void {
    const { model } = this;
    const sums = model.merger.sum(a, b, pixel[0], pixel[1]);
    const all = sums.reduce((x, y) => x + y, 0);
    const order = [...sums.keys()].filter((p) => sums[p] > 0).sort((x, y) => sums[y] - sums[x]);
    lines.push(["at", `${moment(pixel[0])} and ${duration(pixel[1] - pixel[0])} on`], ["merged", `${plural(b - a, "span")} in this pixel`]);
    for (const p of order.slice(0, 5)) lines.push([model.phases[p].name, percent(sums[p] / all)]);
    showTip(visible(title), lines, client.x, client.y, order.length ? model.phases[order[0]].css : undefined);
  }

  protected override click(x: number, y: number, event: PointerEvent): void {
    const row = rowAt(this.rows, y - RULER + this.scrolled);
    if (row < 0 || y < RULER) return;
    const unit = this.model.units[this.rows.unit[row]];
    const thread = this.rows.thread[row];
    this.cursor = row;
    if (x < this.gutter && unit.row >= 0) this.state.set({ units: toggled(this.state.view.units, unit.row, event.ctrlKey || event.metaKey || event.shiftKey) });
    else this.state.set({ thread: this.state.view.thread === thread ? -1 : thread });
    this.pane.invalidate();
  }

  protected override key(event: KeyboardEvent): boolean {
    const rows = this.rows.thread.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.cursor = Math.max(0, Math.min(rows - 1, this.cursor + (event.key === "ArrowDown" ? 1 : -1)));
      this.showCursor();
      return true;
    }
    if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && event.shiftKey) {
      this.stepBand(event.key === "ArrowRight" ? 1 : -1);
      return true;
    }
    if (event.key === "Enter" && this.cursor >= 0) {
      this.state.set({ thread: this.rows.thread[this.cursor] });
      return true;
    }
    return super.key(event);
  }

  private band = -1;

  private showCursor(): void {
    const top = this.rows.top[this.cursor];
    if (top < this.scrolled || top + this.rows.height > this.scrolled + this.pane.height - RULER) this.scroller.scrollTo({ top: top - this.pane.height / 2 });
    this.band = -1;
    this.pane.invalidate();
    const box = this.pane.canvas.getBoundingClientRect();
    this.describe(this.cursor, null, { x: box.left + this.gutter, y: box.top + RULER + top - this.scrolled });
  }

  // Shift and left or right: from span to span, with the axis following.
  private stepBand(by: number): void {
    if (this.cursor < 0) return;
    const { model } = this;
    const thread = this.rows.thread[this.cursor];
    const [from, to] = [model.threads.first[thread], model.threads.first[thread + 1]];
    if (from === to) return;
    const origin = this.origin(this.cursor);
    const axis = this.axis();
    this.band = this.band < from || this.band >= to ? Math.min(to - 1, firstEndingAfter(model.spans.end, from, to, axis.t0 + origin)) : this.band + by;
    this.band = Math.max(from, Math.min(to - 1, this.band));
    const middle = (model.spans.start[this.band] + model.spans.end[this.band]) / 2 - origin;
    if (middle < axis.t0 || middle > axis.t1) axis.pan((middle - (axis.t0 + axis.t1) / 2) / (axis.t1 - axis.t0));
    const box = this.pane.canvas.getBoundingClientRect();
    const y = box.top + RULER + this.rows.top[this.cursor] - this.scrolled;
    const lines: TipLine[] = [["thread", visible(model.threadTitle(thread))]];
    this.describeSpan(model.units[this.rows.unit[this.cursor]].name, lines, this.band, { x: box.left + this.x(middle), y });
  }
}

interface Run {
  phase: number;
  from: number;
  to: number;
}

// Pixels in a row that show one phase, as far as they are wide enough for a word.
function runsOf(row: Row, least: number): Run[] {
  const runs: Run[] = [];
  const width = row.phase.length;
  let from = 0;
  for (let x = 1; x <= width; x++) {
    if (x < width && row.phase[x] === row.phase[from]) continue;
    if (row.phase[from] !== NOTHING && x - from >= least) runs.push({ phase: row.phase[from], from, to: x });
    from = x;
  }
  return runs;
}

export const matches = (phase: { key: string; segment: string }, wanted: string): boolean => wanted === "" || phase.key === wanted || phase.segment === wanted;

export function toggled(rows: number[], row: number, more: boolean): number[] {
  if (more) return rows.includes(row) ? rows.filter((r) => r !== row) : [...rows, row];
  return rows.length === 1 && rows[0] === row ? [] : [row];
}
