// Which segment a unit was in, pixel by pixel: the one in which its threads spent most time inside the pixel.
import { firstEndingAfter, firstStartingFrom, makeRow, NOTHING, type Row } from "./lod";
import type { Model } from "./model";

const KEPT = 4096; // pixels of a strip that is kept as a whole

interface Kept {
  dt: number;
  row: Row;
}

const PER_PIXEL = 400; // spans a pixel, on average, from which sums over blocks are cheaper than each span

export class Strips {
  private held = new Float64Array(0);
  private readonly kept = new Map<number, Kept>();

  constructor(private readonly model: Model) {}

  // Pixels [from, to) of a row that begins at pixel `first` of an axis whose pixel 0 is at time 0: moving along an axis of one zoom
  // costs no more than copying.
  show(row: Row, unit: number, first: number, dt: number, from: number, to: number): void {
    const { start, end } = this.model.units[unit];
    const begin = Math.floor(start / dt);
    const width = Math.ceil(end / dt) + 1 - begin;
    if (width > KEPT) return this.fill(row, unit, first * dt, dt, from, to);
    let kept = this.kept.get(unit);
    if (kept?.dt !== dt) {
      if (kept?.row.phase.length !== width) kept = { dt, row: makeRow(width) };
      kept.dt = dt;
      this.fill(kept.row, unit, begin * dt, dt, 0, width);
      this.kept.set(unit, kept);
    }
    for (let x = from; x < to; x++) {
      const at = first + x - begin;
      row.phase[x] = at >= 0 && at < width ? kept.row.phase[at] : NOTHING;
      row.cover[x] = at >= 0 && at < width ? kept.row.cover[at] : 0;
    }
  }

  // Fills pixels [from, to) of a row; "phases" of this row are segments.
  fill(row: Row, unit: number, t0: number, dt: number, from: number, to: number): void {
    const { model } = this;
    const segments = Math.max(1, model.segments.length);
    const width = to - from;
    if (this.held.length < width * segments) this.held = new Float64Array(width * segments);
    this.held.fill(0, 0, width * segments);
    const [left, right] = [t0 + from * dt, t0 + to * dt];
    for (const t of model.units[unit].threads) {
      const a = firstEndingAfter(model.spans.end, model.threads.first[t], model.threads.first[t + 1], left);
      const b = firstStartingFrom(model.spans.start, a, model.threads.first[t + 1], right);
      if (b - a > width * PER_PIXEL) this.holdSums(a, b, left, dt, width, segments);
      else this.holdEach(a, b, left, dt, width, segments);
    }
    for (let x = 0; x < width; x++) {
      let best = NOTHING;
      let most = 0;
      let all = 0;
      for (let s = 0; s < segments; s++) {
        const time = this.held[x * segments + s];
        all += time;
        if (time > most) {
          most = time;
          best = s;
        }
      }
      row.phase[from + x] = best;
      row.cover[from + x] = Math.min(1, all / dt);
    }
  }

  private holdEach(a: number, b: number, left: number, dt: number, width: number, segments: number): void {
    const { start, end, phase } = this.model.spans;
    const { segmentOf } = this.model;
    for (let i = a; i < b; i++) {
      const x0 = Math.max(0, (start[i] - left) / dt);
      const x1 = Math.min(width, (end[i] - left) / dt);
      const s = segmentOf[phase[i]];
      const first = Math.floor(x0);
      const last = Math.min(width - 1, Math.floor(x1));
      if (first >= last) {
        if (first < width) this.held[first * segments + s] += (x1 - x0) * dt;
        continue;
      }
      this.held[first * segments + s] += (first + 1 - x0) * dt;
      for (let x = first + 1; x < last; x++) this.held[x * segments + s] += dt;
      this.held[last * segments + s] += (x1 - last) * dt;
    }
  }

  private holdSums(a: number, b: number, left: number, dt: number, width: number, segments: number): void {
    const { segmentOf, merger } = this.model;
    for (let x = 0; x < width; x++) {
      const sums = merger.sum(a, b, left + x * dt, left + (x + 1) * dt);
      for (let p = 0; p < sums.length; p++) this.held[x * segments + segmentOf[p]] += sums[p];
    }
  }
}
