import assert from "node:assert/strict";
import { test } from "node:test";
import { Data } from "../src/decode";
import { Stacks, type FlameNode } from "../src/flame_tree";
import { Model } from "../src/model";
import { EMPTY } from "../src/state";
import { Encoder } from "./encode";

function model(): Model {
  const e = new Encoder();
  const ns = { per: 1e9 };
  e.tables["processes"] = { rows: 2, columns: { unit_row: e.column("row", [0, 1]), exe: e.column("text", ["a", "b"]) } };
  e.tables["units"] = { rows: 2, columns: { process: e.column("row", [0, 1]), unit: e.column("text", ["a", "b"]), start_s: e.column("int", [0, 1], ns) } };
  e.tables["threads"] = { rows: 2, columns: { process: e.column("row", [0, 1]), start_s: e.column("int", [0, 1], ns), spans: e.column("int", [0, 0]) } };
  // main > x > y, main > y
  e.tables["frames"] = { rows: 4, columns: { depth: e.column("int", [1, 2, 3, 2]), name: e.column("text", ["main", "x", "y", "y"]) } };
  e.tables["stacks_whole"] = { rows: 3, columns: { node: e.column("row", [1, 2, 3]), phase: e.column("phase", [0, 1, 1]), cpu: e.column("int", [1, 2, 4], ns) } };
  e.tables["stacks"] = {
    rows: 3,
    columns: { thread: e.column("row", [0, 0, 1]), slot: e.column("int", [0, 1, 1]), node: e.column("row", [1, 2, 3]), phase: e.column("phase", [0, 1, 1]), cpu: e.column("int", [1, 2, 4], ns) },
  };
  const phases = [{ segment: 0, name: "parse" }, { segment: 1, name: "optimize" }];
  return new Model(new Data(e.bytes({ segments: ["frontend", "backend"], phases, stacks: { slot_s: 0.5, by: "thread" } })), 0);
}

const shape = (node: FlameNode): unknown => [node.name, node.total, ...node.children().map(shape)];

test("from the root, from the leaves and by phase the same time is shown", () => {
  const stacks = new Stacks(model());
  assert.deepEqual(shape(stacks.tree(EMPTY)), ["all", 7, ["main", 7, ["y", 4], ["x", 3, ["y", 2]]]]);
  assert.deepEqual(shape(stacks.tree({ ...EMPTY, flame: "up" })), ["all", 7, ["y", 6, ["main", 4], ["x", 2, ["main", 2]]], ["x", 1, ["main", 1]]]);
  assert.deepEqual(shape(stacks.tree({ ...EMPTY, flame: "phase" })), [
    "all", 7, ["backend › optimize", 6, ["main", 6, ["y", 4], ["x", 2, ["y", 2]]]], ["frontend › parse", 1, ["main", 1, ["x", 1]]],
  ]);
});

test("a frame's own time is what its callees did not take, and its phase is the one with most", () => {
  const main = new Stacks(model()).tree(EMPTY).children()[0];
  assert.deepEqual(main.children().map((n) => [n.name, n.self, n.phase]), [["y", 4, 1], ["x", 1, 1]]);
});

test("selections: a unit, a thread, slots of time, a phase", () => {
  const stacks = new Stacks(model());
  assert.equal(stacks.tree({ ...EMPTY, units: [1] }).total, 4);
  assert.equal(stacks.tree({ ...EMPTY, thread: 0 }).total, 3);
  assert.equal(stacks.tree({ ...EMPTY, range: [0.6, 0.9] }).total, 6);
  assert.deepEqual(stacks.range({ ...EMPTY, range: [0.6, 1.2] }), [0.5, 1.5]);
  assert.equal(stacks.tree({ ...EMPTY, phase: "frontend" }).total, 1);
  assert.equal(stacks.tree({ ...EMPTY, units: [0], range: [0, 0.5] }).total, 1);
});
