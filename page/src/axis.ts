// A stretch of time that one or several charts show.
import { ticks as roundTimes } from "d3-array";
import { digits } from "./format";

const CLOSEST = 1e-6; // seconds across: as far as it makes sense to zoom in

export class TimeAxis {
  t0: number;
  t1: number;
  private readonly listeners: ((byUser: boolean) => void)[] = [];

  constructor(public last: number) {
    this.t0 = 0;
    this.t1 = last;
  }

  listen(listener: (byUser: boolean) => void): void {
    this.listeners.push(listener);
  }

  get isAll(): boolean {
    return this.t0 <= 0 && this.t1 >= this.last;
  }

  set(t0: number, t1: number, byUser = true): void {
    const span = Math.min(this.last, Math.max(CLOSEST, t1 - t0));
    const from = Math.max(0, Math.min(t0, this.last - span));
    if (from === this.t0 && from + span === this.t1) return;
    this.t0 = from;
    this.t1 = from + span;
    for (const listener of this.listeners) listener(byUser);
  }

  fit(): void {
    this.set(0, this.last);
  }

  pan(share: number): void {
    const by = (this.t1 - this.t0) * share;
    this.set(this.t0 + by, this.t1 + by);
  }

  zoom(factor: number, around = (this.t0 + this.t1) / 2): void {
    this.set(around - (around - this.t0) * factor, around + (this.t1 - around) * factor);
  }
}

export interface Tick {
  at: number;
  label: string;
}

// Ticks at round times, with as many digits as the step needs.
export function ticks(t0: number, t1: number, width: number): Tick[] {
  const wanted = roundTimes(t0, t1, Math.max(2, Math.floor(width / 90)));
  const step = wanted.length > 1 ? wanted[1] - wanted[0] : t1 - t0;
  const [unit, name] = step >= 0.01 ? [1, "s"] : step >= 1e-5 ? [1e3, "ms"] : [1e6, "µs"];
  const places = Math.max(0, Math.ceil(-Math.log10(step * unit) - 1e-9));
  return wanted.map((at) => ({ at, label: `${digits(at * unit, places)} ${name}` }));
}
