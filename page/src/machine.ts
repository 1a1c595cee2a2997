// Beside the build, on the same axis: units at once, processors at work, memory.
import type { TimeAxis } from "./axis";
import { bytes, digits, moment } from "./format";
import { concurrency } from "./lanes";
import type { Model } from "./model";
import type { State } from "./state";
import { inks } from "./theme";
import { RULER, TimeChart } from "./timechart";
import { hideTip, showTip, type TipLine } from "./tooltip";

const BAND = 56;
const SPACE = 10;

interface Steps {
  at: Float64Array;
  value: Float64Array; // from at[i] to at[i + 1]; NaN: not known
  color: string;
  name: string;
}

interface Band {
  title: string;
  top: number; // of the scale
  areas: Steps[]; // one above the other
  lines: Steps[];
  limit: number | null; // a line across
  shown: (n: number) => string;
}

export class Machine extends TimeChart {
  readonly bands: Band[];

  constructor(
    private readonly model: Model,
    private readonly state: State,
    private readonly build: TimeAxis,
  ) {
    super("Units at once, processors at work and memory over time.", (t0, t1) => state.set({ range: [Math.max(0, t0), Math.min(model.elapsed, t1)] }), () => 600, "machine");
    this.bands = [this.unitsBand(), this.coresBand(), this.memoryBand()].filter((band) => band !== null);
    this.follow(build);
    this.layout(this.bands.length * (BAND + SPACE));
  }

  axis(): TimeAxis {
    return this.build;
  }

  private column(name: string): Steps | null {
    const table = this.model.table("timeline");
    if (table.rows < 2 || !table.has(name)) return null;
    const t = table.numbers("t_s");
    const v = table.numbers(name);
    // A row's figure is the mean since the row before.
    const value = new Float64Array(v.length);
    for (let i = 0; i + 1 < v.length; i++) value[i] = v[i + 1];
    value[v.length - 1] = NaN;
    return value.every(Number.isNaN) ? null : { at: t, value, color: "", name };
  }

  private unitsBand(): Band | null {
    // A linker under its compiler is not counted beside it.
    const units = this.model.units.filter((u) => u.row >= 0 && this.model.unitTable.number("inside", u.row) === null);
    if (units.length === 0) return null;
    const { at, running } = concurrency(units.map((u) => u.start), units.map((u) => u.end));
    const value = Float64Array.from(running);
    const areas: Steps[] = [{ at, value, color: "units", name: "running" }];
    const waiting = this.column("waiting");
    if (waiting) areas.push({ ...waiting, color: "waiting", name: "ready, waiting" });
    return { title: "units", top: Math.max(1, ...topOf(value), ...(waiting ? topOf(this.sumWith(waiting)) : [])), areas, lines: [], limit: null, shown: (n) => digits(n, 0) };
  }

  private sumWith(waiting: Steps): Float64Array {
    const running = this.column("running");
    return waiting.value.map((n, i) => n + (running?.value[i] || 0));
  }

  private coresBand(): Band | null {
    const tree = this.column("tree_busy");
    if (!tree) return null;
    const machine = this.column("cpu_busy");
    const cores = Number(this.model.session["cores"] ?? 0) || null;
    const lines: Steps[] = machine ? [{ ...machine, name: "whole machine" }] : [];
    return {
      title: "cores", top: Math.max(1, cores ?? 0, ...topOf(tree.value)), areas: [{ ...tree, color: "units", name: "this build" }], lines,
      limit: cores, shown: (n) => digits(n, 1),
    };
  }

  private memoryBand(): Band | null {
    const rss = this.column("rss_bytes");
    if (!rss) return null;
    return { title: "memory", top: Math.max(1, ...topOf(rss.value)), areas: [{ ...rss, color: "units", name: "resident" }], lines: [], limit: null, shown: (n) => bytes(n) };
  }

  protected draw(): void {
    const { pane } = this;
    pane.clear();
    this.drawRuler();
    this.bands.forEach((band, i) => this.drawBand(band, RULER + i * (BAND + SPACE) + SPACE / 2));
    const { back } = inks();
    pane.ctx.fillStyle = `rgb(${back.r},${back.g},${back.b})`;
    pane.ctx.fillRect(0, RULER, this.gutter - 1, pane.height);
    this.bands.forEach((band, i) => this.drawScale(band, RULER + i * (BAND + SPACE) + SPACE / 2));
    this.drawRange(this.state.view.range);
  }

  private drawBand(band: Band, top: number): void {
    const { ctx } = this.pane;
    const { text, muted, row } = inks();
    ctx.fillStyle = `rgb(${row.r},${row.g},${row.b})`;
    ctx.fillRect(this.gutter, top, this.plotWidth, BAND);
    const base = new Float64Array(Math.ceil(this.plotWidth) + 1);
    for (const area of band.areas) {
      const means = this.means(area);
      ctx.fillStyle = area.color === "waiting" ? inks().pale : inks().area; // greys: hues are segments
      const y = (n: number): number => top + BAND - Math.min(1, n / band.top) * BAND;
      // A rectangle for each run of pixels of one height: quicker than a path.
      for (let x = 0, next = 1; x < means.length; x = next) {
        for (next = x + 1; next < means.length && Object.is(means[next], means[x]) && base[next] === base[x]; ) next++;
        if (means[x] > 0) ctx.fillRect(this.gutter + x, y(base[x] + means[x]), next - x, y(base[x]) - y(base[x] + means[x]));
      }
      for (let x = 0; x < means.length; x++) base[x] += means[x] || 0;
    }
    for (const line of band.lines) this.drawLine(this.means(line), band, top, text);
    if (band.limit !== null) {
      ctx.fillStyle = muted;
      const at = top + BAND - (band.limit / band.top) * BAND;
      for (let x = this.gutter; x < this.pane.width; x += 6) ctx.fillRect(x, at, 3, 1);
    }
  }

  private drawLine(means: Float64Array, band: Band, top: number, color: string): void {
    const { ctx } = this.pane;
    ctx.strokeStyle = color;
    ctx.lineWidth = 1;
    ctx.beginPath();
    let on = false;
    for (let x = 0; x < means.length; x++) {
      if (Number.isNaN(means[x])) on = false;
      else {
        const y = top + BAND - Math.min(1, means[x] / band.top) * BAND;
        if (on) ctx.lineTo(this.gutter + x + 0.5, y);
        else ctx.moveTo(this.gutter + x + 0.5, y);
        on = true;
      }
    }
    ctx.stroke();
  }

  // The mean over each pixel of what is constant between its steps.
  private means(steps: Steps): Float64Array {
    const width = Math.ceil(this.plotWidth);
    const out = new Float64Array(width).fill(NaN);
    const { at, value } = steps;
    const axis = this.axis();
    const dt = (axis.t1 - axis.t0) / this.plotWidth;
    let i = Math.max(0, upper(at, axis.t0) - 1);
    for (let x = 0; x < width; x++) {
      const [left, right] = [axis.t0 + x * dt, axis.t0 + (x + 1) * dt];
      let sum = 0;
      let known = 0;
      while (i < at.length && at[i] < right) {
        const end = i + 1 < at.length ? at[i + 1] : Infinity;
        const part = Math.min(end, right) - Math.max(at[i], left);
        if (part > 0 && !Number.isNaN(value[i])) {
          sum += part * value[i];
          known += part;
        }
        if (end >= right) break;
        i++;
      }
      if (known > 0) out[x] = sum / known;
    }
    return out;
  }

  private drawScale(band: Band, top: number): void {
    const { pane } = this;
    const { text, muted } = inks();
    pane.ctx.textAlign = "left";
    pane.font(12, 600);
    pane.ctx.fillStyle = text;
    const peak = band.shown(band.top);
    const title = pane.fit(band.title, this.gutter - 8);
    pane.ctx.fillText(title, 0, top + 7);
    pane.font(11);
    pane.ctx.fillStyle = muted;
    pane.ctx.textAlign = "right";
    if (this.gutter > pane.measure(peak) + pane.measure(title) + 20) pane.ctx.fillText(peak, this.gutter - 6, top + 7);
    pane.ctx.textAlign = "left";
    const names = [...band.areas, ...band.lines].map((s) => s.name).join(", ");
    pane.ctx.fillText(pane.fit(names, this.gutter - 10), 0, top + 23);
  }

  protected override hover(x: number, y: number, client: { x: number; y: number }): void {
    if (x < this.gutter || y < RULER) return hideTip();
    const t = this.time(x);
    const lines: TipLine[] = [];
    for (const band of this.bands)
      for (const steps of [...band.areas, ...band.lines]) {
        const i = upper(steps.at, t) - 1;
        const value = i >= 0 ? steps.value[i] : NaN;
        lines.push([`${band.title}, ${steps.name}`, Number.isNaN(value) ? "not measured" : band.shown(value)]);
      }
    showTip(moment(t), lines, client.x, client.y);
  }
}

const topOf = (values: Float64Array): number[] => {
  let top = 0;
  for (const v of values) if (v > top) top = v;
  return [top];
};

// How many of the sorted values are at most t.
function upper(values: Float64Array, t: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (values[mid] <= t) low = mid + 1;
    else high = mid;
  }
  return low;
}
