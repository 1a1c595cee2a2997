import assert from "node:assert/strict";
import { test } from "node:test";
import { concurrency, packed } from "../src/lanes";

test("lanes hold one unit at a time, and are no more than needed", () => {
  const start = [0, 1, 1, 2, 5, 5.5];
  const end = [2, 5, 3, 6, 6, 7];
  const lanes = packed(start, end);
  assert.equal(lanes.count, 3);
  for (let i = 0; i < 6; i++)
    for (let j = 0; j < i; j++) if (lanes.lane[i] === lanes.lane[j]) assert.ok(end[j] <= start[i] || end[i] <= start[j], `${i} and ${j}`);
});

test("what runs at once, with an end before a start at the same moment", () => {
  const { at, running } = concurrency([0, 1, 2], [2, 3, 4]);
  assert.deepEqual([...at], [0, 1, 2, 2, 3, 4]);
  assert.deepEqual([...running], [1, 2, 1, 2, 1, 0]);
});
