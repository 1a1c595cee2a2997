// Where units stand in the chart of the build.

export interface Lanes {
  lane: Int32Array; // of each unit
  count: number;
}

export function oneEach(units: number): Lanes {
  return { lane: Int32Array.from({ length: units }, (_, i) => i), count: units };
}

// As few lanes as there were units at once: each unit, in order of start, in the first lane that is free.
export function packed(start: ArrayLike<number>, end: ArrayLike<number>): Lanes {
  const lane = new Int32Array(start.length);
  const order = Array.from({ length: start.length }, (_, i) => i).sort((a, b) => start[a] - start[b] || a - b);
  const free: number[] = [];
  for (const i of order) {
    let at = free.findIndex((t) => t <= start[i]);
    if (at < 0) at = free.push(0) - 1;
    free[at] = end[i];
    lane[i] = at;
  }
  return { lane, count: free.length };
}

// How many ran at each moment: steps at which the number changes.
export function concurrency(start: ArrayLike<number>, end: ArrayLike<number>): { at: Float64Array; running: Int32Array } {
  const events: [number, number][] = [];
  for (let i = 0; i < start.length; i++) if (end[i] > start[i]) events.push([start[i], 1], [end[i], -1]);
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const at = new Float64Array(events.length);
  const running = new Int32Array(events.length);
  let n = 0;
  events.forEach(([t, by], i) => {
    at[i] = t;
    running[i] = n += by;
  });
  return { at, running };
}
