import assert from "node:assert/strict";
import { test } from "node:test";
import { Data } from "../src/decode";
import { Stacks, type FlameNode } from "../src/flame_tree";
import { Model } from "../src/model";
import { EMPTY } from "../src/state";
import { Encoder } from "./encode";

function model(by = "thread", slot: number | null = 0.5): Model {
  const e = new Encoder();
  const ns = { per: 1e9 };
  e.tables["processes"] = { rows: 2, columns: { unit_row: e.column("row", [0, 1]), exe: e.column("text", ["a", "b"]) } };
  e.tables["units"] = { rows: 2, columns: { process: e.column("row", [0, 1]), unit: e.column("text", ["a", "b"]), start_s: e.column("int", [0, 1], ns) } };
  e.tables["threads"] = { rows: 2, columns: { process: e.column("row", [0, 1]), start_s: e.column("int", [0, 0.5], ns), spans: e.column("int", [2, 1]) } };
  // Thread 0: parse to 0.5 s, then optimize; thread 1 optimizes from 0.5 s on.
  e.tables["spans"] = {
    rows: 3,
    columns: {
      gap: e.column("int", [0, 0, 0], ns), length: e.column("int", [0.5, 0.5, 0.5], ns), phase: e.column("phase", [0, 1, 1]), role: e.column("role", [0, 0, 0]),
      cgu: e.column("text", [null, null, null], { null: true }), samples: e.column("int", [1, 2, 4]), cpu: e.column("int", [1, 2, 4], ns),
    },
  };
  // main > x > y, main > y
  e.tables["frames"] = { rows: 4, columns: { depth: e.column("int", [1, 2, 3, 2]), name: e.column("text", ["main", "x", "y", "y"]) } };
  e.tables["stacks_whole"] = { rows: 3, columns: { node: e.column("row", [1, 2, 3]), phase: e.column("phase", [0, 1, 1]), cpu: e.column("int", [1, 2, 4], ns) } };
  e.tables["stacks"] = {
    rows: 4,
    columns: {
      [by]: e.column("row", [0, 0, 0, 1]), slot: e.column("int", [0, 1, 1, 1].map((n) => (slot ? n : 0))), node: e.column("row", [1, 2, 3, 3]),
      phase: e.column("phase", [0, 1, 1, 1]), samples: e.column("int", [1, 3, 1, 4]),
    },
  };
  const phases = [{ segment: 0, name: "parse" }, { segment: 1, name: "optimize" }];
  return new Model(new Data(e.bytes({ segments: ["frontend", "backend"], phases, roles: ["serial"], spans: { quantum_s: 0.001 }, stacks: { slot_s: slot ?? undefined, by } })), 0);
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
  assert.equal(stacks.tree({ ...EMPTY, range: [0.5, 1] }).total, 6);
  assert.deepEqual(stacks.range({ ...EMPTY, range: [0.6, 1.2] }), [0.5, 1.5]);
  assert.equal(stacks.tree({ ...EMPTY, phase: "frontend" }).total, 1);
  assert.equal(stacks.tree({ ...EMPTY, units: [0], range: [0, 0.5] }).total, 1);
});

test("a part has the CPU time of its spans, divided as its samples are", () => {
  const stacks = new Stacks(model());
  // Three of four samples of optimize in thread 0 were in main > x > y, one in main > y; half of its span is selected.
  assert.deepEqual(shape(stacks.tree({ ...EMPTY, thread: 0, range: [0.5, 0.75] })), ["all", 1, ["main", 1, ["x", 0.75, ["y", 0.75]], ["y", 0.25]]]);
});

test("where all time of a process is one, a stretch of it has its own phases all the same", () => {
  const stacks = new Stacks(model("process", null));
  assert.equal(stacks.range({ ...EMPTY, range: [0, 0.5] }), null);
  assert.deepEqual(shape(stacks.tree({ ...EMPTY, units: [0], range: [0, 0.25] })), ["all", 0.5, ["main", 0.5, ["x", 0.5]]]);
  assert.equal(stacks.tree({ ...EMPTY, range: [0.5, 0.75] }).total, 3);
});
