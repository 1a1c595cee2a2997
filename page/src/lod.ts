// Level of detail: which phase each pixel of a row shows.
//
// Spans of a row are sorted and do not overlap. A pixel shows the phase that held most of the time inside it, exactly, at every
// zoom: no span is dropped for being short, it is added to its pixel's account. Where a pixel holds more spans than a few hundred,
// sums over blocks of spans stand for all but the ragged ends, so a row costs the same however many spans lie in it.

export const NOTHING = 0xffff;
const BLOCK = 128;
const STEPS = 16; // to look at one by one before a search by halves

export interface Spans {
  start: Float64Array;
  end: Float64Array;
  phase: Uint16Array; // index of segment and phase
  phases: number; // how many there are
}

export interface Row {
  phase: Uint16Array; // a pixel; NOTHING where no span lies
  cover: Float32Array; // how much of the pixel spans cover, 0 to 1
  spans: number; // that lie in the view
  merged: number; // of these, that lie inside one pixel and share it with others
}

export function makeRow(width: number): Row {
  return { phase: new Uint16Array(width), cover: new Float32Array(width), spans: 0, merged: 0 };
}

// The first of spans [from, to) that ends after t.
export function firstEndingAfter(end: Float64Array, from: number, to: number, t: number): number {
  while (from < to) {
    const mid = (from + to) >> 1;
    if (end[mid] > t) to = mid;
    else from = mid + 1;
  }
  return from;
}

// The first of spans [from, to) that starts at t or later.
export function firstStartingFrom(start: Float64Array, from: number, to: number, t: number): number {
  while (from < to) {
    const mid = (from + to) >> 1;
    if (start[mid] >= t) to = mid;
    else from = mid + 1;
  }
  return from;
}

// The same, for when it is near.
function nextFrom(start: Float64Array, from: number, to: number, t: number): number {
  const near = Math.min(to, from + STEPS);
  while (from < near && start[from] < t) from++;
  return from < near || from === to ? from : firstStartingFrom(start, from, to, t);
}

export class Merger {
  private readonly sums: Float64Array; // time by phase in all blocks before
  private readonly held: Float64Array; // time by phase in the pixel at hand
  private readonly touched: Uint16Array;
  private touchedCount = 0;

  constructor(readonly spans: Spans) {
    const blocks = Math.ceil(spans.start.length / BLOCK);
    this.sums = new Float64Array((blocks + 1) * spans.phases);
    this.held = new Float64Array(spans.phases);
    this.touched = new Uint16Array(spans.phases);
    const { start, end, phase, phases } = spans;
    for (let b = 0; b < blocks; b++) {
      const at = (b + 1) * phases;
      this.sums.copyWithin(at, at - phases, at);
      const stop = Math.min(start.length, (b + 1) * BLOCK);
      for (let i = b * BLOCK; i < stop; i++) this.sums[at + phase[i]] += end[i] - start[i];
    }
  }

  private hold(phase: number, time: number): void {
    if (time <= 0) return;
    if (this.held[phase] === 0) this.touched[this.touchedCount++] = phase;
    this.held[phase] += time;
  }

  // Adds spans [a, b), each as far as it lies in [left, right).
  private holdRange(a: number, b: number, left: number, right: number): void {
    const { start, end, phase, phases } = this.spans;
    let i = a;
    if (b - a > 3 * BLOCK) {
      const first = Math.floor(a / BLOCK) + 1;
      const last = Math.floor((b - 1) / BLOCK);
      for (; i < first * BLOCK; i++) this.hold(phase[i], end[i] - Math.max(left, start[i]));
      for (let p = 0; p < phases; p++) this.hold(p, this.sums[last * phases + p] - this.sums[first * phases + p]);
      i = last * BLOCK;
    }
    for (; i < b; i++) this.hold(phase[i], Math.min(right, end[i]) - Math.max(left, start[i]));
  }

  // Ends the pixel: the phase that held most, the lower number on a tie. A span of no length shows where nothing else does.
  private settle(row: Row, pixel: number, width: number, first: number): void {
    let best = this.touchedCount ? NOTHING : this.spans.phase[first];
    let most = 0;
    let all = 0;
    for (let k = 0; k < this.touchedCount; k++) {
      const p = this.touched[k];
      const time = this.held[p];
      all += time;
      if (time > most || (time === most && p < best)) {
        most = time;
        best = p;
      }
      this.held[p] = 0;
    }
    this.touchedCount = 0;
    row.phase[pixel] = best;
    row.cover[pixel] = Math.min(1, all / width);
  }

  // Fills a row with spans [from, to) as seen from t0 on, a pixel being dt wide.
  merge(row: Row, from: number, to: number, t0: number, dt: number): void {
    const { start, end, phase } = this.spans;
    const width = row.phase.length;
    row.phase.fill(NOTHING);
    row.cover.fill(0);
    let i = firstEndingAfter(end, from, to, t0);
    const stop = firstStartingFrom(start, i, to, t0 + width * dt);
    row.spans = stop - i;
    row.merged = 0;
    let pixel = 0;
    while (pixel < width && i < stop) {
      const left = t0 + pixel * dt;
      const right = t0 + (pixel + 1) * dt;
      if (start[i] >= right) {
        pixel = Math.max(pixel + 1, Math.floor((start[i] - t0) / dt));
        continue;
      }
      if (start[i] <= left && end[i] >= right) {
        let full = Math.min(width, Math.max(pixel + 1, Math.floor((end[i] - t0) / dt)));
        while (full > pixel + 1 && t0 + full * dt > end[i]) full--;
        row.phase.fill(phase[i], pixel, full);
        row.cover.fill(1, pixel, full);
        pixel = full;
        if (end[i] <= t0 + pixel * dt) i++;
        continue;
      }
      const next = nextFrom(start, i, stop, right);
      this.holdRange(i, next, left, right);
      this.settle(row, pixel, dt, i);
      const goesOn = end[next - 1] > right;
      if (next - i > 1) row.merged += next - i - (start[i] < left ? 1 : 0) - (goesOn ? 1 : 0);
      i = goesOn ? next - 1 : next;
      pixel++;
    }
  }

  // Seconds by phase of spans [from, to) inside of [t0, t1).
  sum(from: number, to: number, t0: number, t1: number): Float64Array {
    const { start, end } = this.spans;
    const a = firstEndingAfter(end, from, to, t0);
    const b = firstStartingFrom(start, a, to, t1);
    this.holdRange(a, b, t0, t1);
    const out = this.held.slice();
    this.held.fill(0);
    this.touchedCount = 0;
    return out;
  }
}
