// The build: a lane a unit, coloured by segment; the critical path, dependencies, and the point at which metadata was there.
import type { TimeAxis } from "./axis";
import { inkOn, type Rgb } from "./color";
import { bytes, count, duration, moment, plural, visible } from "./format";
import { metadataAt, type Graph } from "./graph";
import { toggled } from "./inside";
import { oneEach, packed, type Lanes } from "./lanes";
import { makeRow, type Row } from "./lod";
import type { Model } from "./model";
import { BandColors, Raster } from "./raster";
import { lanesOf, type State } from "./state";
import { Strips } from "./strips";
import { inks } from "./theme";
import { RULER, TimeChart } from "./timechart";
import { hideTip, showTip, type TipLine } from "./tooltip";

const LANE = 18;
const BAR = 14;

export class Build extends TimeChart {
  private lanes: Lanes = { lane: new Int32Array(0), count: 0 };
  private byLane: number[][] = [];
  private readonly units: number[]; // indexes of those that are units
  private readonly strips: Strips;
  private readonly raster = new Raster();
  private row: Row = makeRow(1);
  private colors: BandColors | null = null;
  private dark = false;
  private over = -1; // unit under the pointer
  private cursor = -1;

  constructor(
    private readonly model: Model,
    private readonly graph: Graph,
    private readonly state: State,
    private readonly build: TimeAxis,
    share = 0.55, // of the window's height
  ) {
    super(
      "The build: a lane for each unit over time. Keys: w and s zoom, a and d move, up and down choose a unit, Enter selects it.",
      (t0, t1) => state.set({ range: [Math.max(0, t0), Math.min(model.elapsed, t1)] }),
      () => Math.min(innerHeight * share, 900),
      "build",
    );
    this.units = model.units.map((_, i) => i).filter((i) => model.isUnit(i));
    this.strips = new Strips(model);
    this.follow(build);
    this.refresh();
  }

  axis(): TimeAxis {
    return this.build;
  }

  private get packed(): boolean {
    return lanesOf(this.state.view, this.units.length) === "packed";
  }

  refresh(): void {
    const { model } = this;
    if (this.packed) {
      const found = packed(this.units.map((i) => model.units[i].start), this.units.map((i) => model.units[i].end));
      this.lanes = { lane: new Int32Array(model.units.length).fill(-1), count: found.count };
      this.units.forEach((unit, i) => (this.lanes.lane[unit] = found.lane[i]));
    } else this.lanes = oneEach(this.units.length);
    this.byLane = Array.from({ length: this.lanes.count }, () => []);
    for (const unit of this.units) this.byLane[this.lanes.lane[unit]].push(unit);
    this.layout(this.lanes.count * LANE + 4);
  }

  private segmentColors(): BandColors {
    if (!this.colors || this.dark !== inks().dark) {
      const colors: Rgb[] = this.model.segments.map((s) => s.color);
      this.colors = new BandColors(colors, inks().row, () => false);
      this.dark = inks().dark;
    }
    return this.colors;
  }

  private top(unit: number): number {
    return RULER + 2 + this.lanes.lane[unit] * LANE - this.scrolled;
  }

  private isDim(unit: number): boolean {
    const { units } = this.state.view;
    return units.length > 0 && !units.includes(this.model.units[unit].row);
  }

  protected draw(): void {
    const { pane, model } = this;
    const { dpr } = pane;
    const axis = this.axis();
    const left = Math.round(this.gutter * dpr);
    const width = Math.max(1, Math.round(pane.width * dpr) - left);
    const height = Math.max(1, Math.round((pane.height - RULER) * dpr));
    const dt = (axis.t1 - axis.t0) / width;
    const first = Math.round(axis.t0 / dt);
    if (this.row.phase.length !== width) this.row = makeRow(width);
    pane.clear();
    this.drawRuler();
    this.raster.begin(width, height, inks().back);
    const visibleLanes = this.visibleLanes();
    for (const unit of visibleLanes) {
      const { start, end } = model.units[unit];
      const from = Math.floor(start / dt) - first;
      const to = Math.max(from + Math.max(1, Math.round(dpr)), Math.ceil(end / dt) - first);
      if (to <= 0 || from >= width) continue;
      this.strips.show(this.row, unit, first, dt, Math.max(0, from), Math.min(width, to));
      const top = Math.round((this.top(unit) - RULER) * dpr);
      this.raster.band(this.row, this.segmentColors(), from, to, 0, top, top + Math.round(BAR * dpr));
    }
    this.raster.put(pane.ctx, left, Math.round(RULER * dpr));
    for (const unit of visibleLanes) this.decorate(unit);
    this.drawDependencies();
    this.drawNames();
    this.drawRange(this.state.view.range);
  }

  private visibleLanes(): number[] {
    const first = Math.max(0, Math.floor(this.scrolled / LANE));
    const last = Math.min(this.lanes.count, Math.ceil((this.scrolled + this.pane.height - RULER) / LANE));
    return this.byLane.slice(first, last).flat();
  }

  // Metadata, the critical path, selection, and in packed lanes the name.
  private decorate(unit: number): void {
    const { pane, model } = this;
    const { ctx } = pane;
    const { start, end, row, name } = model.units[unit];
    const a = Math.max(this.gutter, this.x(start));
    const b = Math.min(pane.width, Math.max(this.x(start) + 1, this.x(end)));
    if (b <= this.gutter || a >= pane.width) return;
    const y = this.top(unit);
    const { back, mark, text } = inks();
    if (this.isDim(unit)) {
      ctx.fillStyle = `rgba(${back.r},${back.g},${back.b},0.7)`;
      ctx.fillRect(a, y, b - a, BAR);
    }
    const metadata = metadataAt(model, unit);
    if (metadata !== null) this.drawRmeta(this.x(metadata), y);
    if (this.graph.critical.has(unit)) {
      ctx.fillStyle = mark;
      ctx.fillRect(a, y + BAR - 1, b - a, 2.5);
    }
    if (unit === this.cursor || unit === this.over || this.state.view.units.includes(row)) {
      ctx.strokeStyle = text;
      ctx.lineWidth = 1.5;
      ctx.strokeRect(a + 0.5, y - 0.5, Math.max(2, b - a - 1), BAR + 1);
    }
    if (this.packed && b - a > 26) {
      pane.font(11, 500);
      const label = pane.fit(visible(name), b - a - 8);
      if (label) this.textOnBar(label, a + 4, y + BAR / 2 + 0.5);
    }
  }

  private textOnBar(text: string, x: number, y: number): void {
    const { ctx } = this.pane;
    ctx.textAlign = "left";
    ctx.lineJoin = "round";
    ctx.lineWidth = 3;
    const { back } = inks();
    ctx.strokeStyle = `rgba(${back.r},${back.g},${back.b},0.85)`;
    ctx.strokeText(text, x, y);
    ctx.fillStyle = inkOn(back);
    ctx.fillText(text, x, y);
  }

  private drawRmeta(x: number, y: number): void {
    if (x < this.gutter || x > this.pane.width) return;
    const { ctx } = this.pane;
    const { back, text } = inks();
    ctx.fillStyle = `rgb(${back.r},${back.g},${back.b})`;
    ctx.fillRect(x - 1.5, y, 3, BAR);
    ctx.fillStyle = text;
    ctx.fillRect(x - 0.5, y, 1, BAR);
  }

  // Of the unit under the pointer, else of those selected; the critical path is always there where it is known.
  private drawDependencies(): void {
    const focus = this.over >= 0 ? [this.over] : this.cursor >= 0 ? [this.cursor] : this.selected();
    if (focus.length === 0) return;
    const { ctx } = this.pane;
    ctx.save();
    ctx.beginPath();
    ctx.rect(this.gutter, RULER, this.plotWidth, this.pane.height - RULER);
    ctx.clip();
    for (const unit of focus.slice(0, 50)) {
      for (const edge of this.graph.before.get(unit) ?? []) this.curve(this.graph.readyAt(edge), edge.dep, edge.unit, inks().text);
      for (const edge of this.graph.after.get(unit) ?? []) this.curve(this.graph.readyAt(edge), edge.dep, edge.unit, inks().muted);
    }
    ctx.restore();
  }

  private selected(): number[] {
    return this.state.view.units.map((row) => this.model.unitOfRow.get(row)).filter((u) => u !== undefined);
  }

  private curve(ready: number, dep: number, unit: number, color: string): void {
    const { ctx } = this.pane;
    const [x0, y0] = [this.x(ready), this.top(dep) + BAR / 2];
    const [x1, y1] = [this.x(this.model.units[unit].start), this.top(unit) + BAR / 2];
    const bend = Math.max(12, Math.min(60, Math.abs(x1 - x0) / 2));
    ctx.strokeStyle = color;
    ctx.lineWidth = 1.25;
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    ctx.stroke();
    ctx.fillStyle = color;
    ctx.beginPath();
    ctx.arc(x1, y1, 2.5, 0, 7);
    ctx.fill();
  }

  private drawNames(): void {
    const { pane, model } = this;
    const { ctx } = pane;
    const { back, text, muted } = inks();
    ctx.fillStyle = `rgb(${back.r},${back.g},${back.b})`;
    ctx.fillRect(0, RULER, this.gutter, pane.height);
    if (this.packed) return;
    ctx.textAlign = "left";
    pane.font(12);
    for (const unit of this.visibleLanes()) {
      const y = this.top(unit) + BAR / 2 + 0.5;
      if (y < RULER + 6) continue;
      ctx.fillStyle = this.isDim(unit) ? muted : text;
      pane.font(12, this.graph.critical.has(unit) ? 600 : 400);
      ctx.fillText(pane.fit(visible(model.units[unit].name), this.gutter - 12), 0, y);
    }
  }

  private unitAt(x: number, y: number): number {
    const lane = Math.floor((y - RULER - 2 + this.scrolled) / LANE);
    const inLane = y < RULER ? [] : (this.byLane[lane] ?? []);
    if (!this.packed) return inLane[0] ?? -1;
    return inLane.find((u) => this.x(this.model.units[u].start) - 1 <= x && this.x(this.model.units[u].end) + 1 >= x) ?? -1;
  }

  protected override hover(x: number, y: number, client: { x: number; y: number }): void {
    const unit = this.unitAt(x, y);
    if (unit !== this.over) this.pane.invalidate();
    this.over = unit;
    if (unit < 0) hideTip();
    else this.describe(unit, client);
  }

  protected override leave(): void {
    if (this.over >= 0) this.pane.invalidate();
    this.over = -1;
  }

  private describe(unit: number, client: { x: number; y: number }): void {
    const { start, end, name, kind, row } = this.model.units[unit];
    const table = this.model.unitTable;
    const lines: TipLine[] = [
      ["kind", kind], ["from", moment(start)], ["to", moment(end)], ["lasted", duration(end - start)], ["CPU", duration(table.number("cpu_s", row))],
      ["peak memory", bytes(table.number("max_rss_bytes", row))],
    ];
    const metadata = metadataAt(this.model, unit);
    if (metadata !== null) lines.push(["metadata", `after ${duration(metadata - start)}`]);
    const slack = table.number("slack_s", row);
    if (slack !== null) lines.push(["slack", duration(slack)]);
    const before = this.graph.before.get(unit)?.length ?? 0;
    const after = this.graph.after.get(unit)?.length ?? 0;
    if (this.graph.edges.length) lines.push(["waits for", plural(before, "unit")], ["needed by", plural(after, "unit")]);
    if (this.graph.critical.has(unit)) lines.push(["critical path", "yes"]);
    const exit = table.number("exit_code", row);
    if (exit) lines.push(["exit code", count(exit)]);
    showTip(visible(name), lines, client.x, client.y);
  }

  protected override click(x: number, y: number, event: PointerEvent): void {
    const unit = this.unitAt(x, y);
    if (unit < 0) return this.state.set({ units: [] });
    this.state.set({ units: toggled(this.state.view.units, this.model.units[unit].row, event.ctrlKey || event.metaKey || event.shiftKey) });
  }

  protected override key(event: KeyboardEvent): boolean {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const at = this.units.indexOf(this.cursor) + (event.key === "ArrowDown" ? 1 : -1);
      this.cursor = this.units[Math.max(0, Math.min(this.units.length - 1, at))] ?? -1;
      if (this.cursor >= 0) this.showCursor();
      return true;
    }
    if (event.key === "Enter" && this.cursor >= 0) {
      this.state.set({ units: toggled(this.state.view.units, this.model.units[this.cursor].row, event.shiftKey) });
      return true;
    }
    return super.key(event);
  }

  private showCursor(): void {
    const y = this.top(this.cursor);
    if (y < RULER || y > this.pane.height - LANE) this.scroller.scrollBy({ top: y - this.pane.height / 2 });
    this.pane.invalidate();
    const box = this.pane.canvas.getBoundingClientRect();
    const x = Math.max(this.gutter, Math.min(this.pane.width - 20, this.x(this.model.units[this.cursor].start)));
    this.describe(this.cursor, { x: box.left + x, y: box.top + this.top(this.cursor) + BAR });
  }
}

