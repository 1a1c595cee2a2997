import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRow, Merger, NOTHING, type Spans } from "../src/lod";

function random(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 32;
  };
}

function spansOf(list: [number, number, number][], phases = 4): Spans {
  return {
    start: Float64Array.from(list, (s) => s[0]), end: Float64Array.from(list, (s) => s[1]),
    phase: Uint16Array.from(list, (s) => s[2]), phases,
  };
}

// What Merger computes, by a plain loop.
function plainly(spans: Spans, from: number, to: number, t0: number, dt: number, width: number): { phase: number[]; cover: number[]; close: boolean[] } {
  const phase: number[] = [];
  const cover: number[] = [];
  const close: boolean[] = [];
  for (let x = 0; x < width; x++) {
    const held = new Float64Array(spans.phases);
    const [left, right] = [t0 + x * dt, t0 + (x + 1) * dt];
    for (let i = from; i < to; i++) held[spans.phase[i]] += Math.max(0, Math.min(right, spans.end[i]) - Math.max(left, spans.start[i]));
    const all = held.reduce((a, b) => a + b, 0);
    const sorted = [...held].sort((a, b) => b - a);
    phase.push(all > 0 ? held.indexOf(sorted[0]) : NOTHING);
    cover.push(all / dt);
    close.push(all > 0 && sorted[0] - sorted[1] < 1e-9 * dt);
  }
  return { phase, cover, close };
}

test("a pixel shows the phase that held most of it", () => {
  const spans = spansOf([[0, 0.4, 1], [0.4, 0.7, 2], [0.7, 1, 1], [1, 3.2, 0], [3.2, 4, 3], [6.1, 6.2, 2]]);
  const row = makeRow(8);
  new Merger(spans).merge(row, 0, 6, 0, 1);
  assert.deepEqual([...row.phase], [1, 0, 0, 3, NOTHING, NOTHING, 2, NOTHING]);
  assert.ok(Math.abs(row.cover[6] - 0.1) < 1e-6);
  assert.equal(row.spans, 6);
  assert.equal(row.merged, 4, "three in the first pixel, one beside the end of a longer one");
});

test("two that win together lose against a longer one in none of their pixels", () => {
  const spans = spansOf([[0, 0.3, 1], [0.3, 0.7, 2], [0.7, 1, 1]]);
  const row = makeRow(1);
  new Merger(spans).merge(row, 0, 3, 0, 1);
  assert.equal(row.phase[0], 1, "the phase, not the longest span");
});

test("any zoom agrees with a plain loop", () => {
  const next = random(7);
  const list: [number, number, number][] = [];
  let t = 0;
  for (let i = 0; i < 5000; i++) {
    if (next() < 0.2) t += next() * 0.01;
    const long = next() < 0.02 ? next() * 2 : next() * 0.002;
    list.push([t, t + long, Math.floor(next() * 6)]);
    t += long;
  }
  const spans = spansOf(list, 6);
  const merger = new Merger(spans);
  for (let round = 0; round < 60; round++) {
    const from = Math.floor(next() * 1000);
    const to = from + Math.floor(next() * (5000 - from));
    const width = 1 + Math.floor(next() * 60);
    const span = round % 3 === 0 ? t : t * next() ** 4;
    const t0 = next() * (t - span) - (round % 5 === 0 ? 1 : 0);
    const row = makeRow(width);
    merger.merge(row, from, to, t0, span / width);
    const right = plainly(spans, from, to, t0, span / width, width);
    for (let x = 0; x < width; x++) {
      assert.ok(Math.abs(row.cover[x] - right.cover[x]) < 1e-5, `cover in round ${round}, pixel ${x}: ${row.cover[x]} ${right.cover[x]}`);
      if (!right.close[x] && right.cover[x] > 1e-9) assert.equal(row.phase[x], right.phase[x], `round ${round}, pixel ${x}`);
    }
  }
});

test("sums over a range are the time inside of it", () => {
  const spans = spansOf(Array.from({ length: 1000 }, (_, i) => [i, i + 0.5, i % 4] as [number, number, number]));
  const sums = new Merger(spans).sum(0, 1000, 10.25, 810.25);
  assert.ok(Math.abs(sums.reduce((a, b) => a + b, 0) - 400) < 1e-9);
  assert.ok(Math.abs(sums[2] - 100) < 1e-9, String(sums[2]));
});
