// The rows of the chart of threads: every thread of every unit, in an order that is read from above.
import type { Model } from "./model";

export interface InsideRows {
  thread: Int32Array;
  unit: Int32Array;
  top: Float64Array; // of each row, from the first one's top
  head: Uint8Array; // the unit's first row
  height: number; // of one row
  total: number;
}

export const GAP = 4; // between units

export function insideRows(model: Model, order: number[], height: number): InsideRows {
  let rows = 0;
  for (const u of order) rows += model.units[u].threads.length;
  const out: InsideRows = {
    thread: new Int32Array(rows), unit: new Int32Array(rows), top: new Float64Array(rows), head: new Uint8Array(rows), height, total: 0,
  };
  let row = 0;
  let top = 0;
  for (const u of order) {
    const { threads } = model.units[u];
    if (threads.length === 0) continue;
    threads.forEach((t, i) => {
      out.thread[row] = t;
      out.unit[row] = u;
      out.top[row] = top;
      out.head[row] = i === 0 ? 1 : 0;
      row++;
      top += height;
    });
    top += GAP;
  }
  out.total = top;
  return out;
}

// The last row that begins at y or above.
export function rowAt(rows: InsideRows, y: number): number {
  let low = 0;
  let high = rows.top.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (rows.top[mid] <= y) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}
