import assert from "node:assert/strict";
import { test } from "node:test";
import { Calls } from "../src/call_data";
import { CallTree } from "../src/call_tree";
import { Data } from "../src/decode";
import type { FlameNode } from "../src/flame_tree";
import { Model } from "../src/model";
import { Encoder } from "./encode";

// main 1 > parse 2 > (lex 2, in which 1 is cut off, parse 4), and of 7 functions more that called lex the page has none; beside it the same in samples, of which
// lex runs in memcpy.
function model(): Model {
  const e = new Encoder();
  const [ns, none] = [{ per: 1e9 }, { null: true }];
  const both = { ...ns, ...none };
  e.tables["call_functions"] = {
    rows: 6,
    columns: {
      function: e.column("text", ["main (/x/a.lua:1)", "parse (dir/a.lua:2)", "lex", "lex", "memcpy", ""]), kind: e.column("text", ["Call", "Call", "Call", "Call", null, "Call"], none),
      module: e.column("text", [null, null, null, null, "/lib/libc.so.6", null], none), count: e.column("int", [1, 5, 9, null, null, null], none),
      calls_of_itself: e.column("int", [0, 3, 0, null, null, null], none), samples: e.column("int", [null, null, null, 8, 6, 1], none),
      self_samples: e.column("int", [null, null, null, 2, 6, 1], none), self_s: e.column("int", [1, 6, 5, 0.2, 0.6, 0.1], both), time_s: e.column("int", [10, 9, 5, 0.8, 0.6, 0.1], both),
      callers: e.column("int", [1, 1, 8, 1, 1, 1]), callees: e.column("int", [1, 1, 0, 1, 0, 0]),
    },
  };
  e.tables["call_pairs"] = {
    rows: 5,
    columns: {
      caller: e.column("row", [null, 0, 1, null, 3], none), callee: e.column("row", [0, 1, 2, 3, 4]), count: e.column("int", [1, 2, 6, null, null], none),
      samples: e.column("int", [null, null, null, 8, 6], none), below_samples: e.column("int", [null, null, null, 8, 6], none),
      time_s: e.column("int", [10, 9, 3, 0.8, 0.6], ns), below_s: e.column("int", [10, 9, 3, 0.8, 0.6], ns),
    },
  };
  e.tables["call_tree"] = {
    rows: 6,
    columns: {
      depth: e.column("int", [1, 2, 3, 3, 1, 2]), function: e.column("row", [0, 1, 1, 2, 3, 4]), count: e.column("int", [1, 2, 3, 6, null, null], none),
      samples: e.column("int", [null, null, null, null, 8, 6], none), self_s: e.column("int", [1, 2, 4, 2, 0.2, 0.6], ns), time_s: e.column("int", [10, 9, 4, 3, 0.8, 0.6], ns),
    },
  };
  const calls = [{ of: "events", whole_s: 12, functions: 3, functions_left: 7, pairs: 3, pairs_left: 7, nodes: 4, nodes_left: 7 },
    { of: "samples", whole_s: 0.9, functions: 3, functions_left: 0, pairs: 2, pairs_left: 1, nodes: 2, nodes_left: 1 }];
  return new Model(new Data(e.bytes({ calls })), 0);
}

test("callers add up to the total, itself and callees too, with what is not in the page", () => {
  const calls = new Calls(model());
  assert.deepEqual(calls.callers(1), { list: [{ row: 0, time: 9, counts: 2 }], rest: null });
  assert.deepEqual(calls.callees(1), { list: [{ row: 2, time: 3, counts: 6 }], rest: null });
  assert.deepEqual(calls.callers(2), { list: [{ row: 1, time: 3, counts: 6 }], rest: { functions: 7, time: 2, counts: 3 } });
  assert.deepEqual(calls.callers(0).list, [{ row: -1, time: 10, counts: 1 }]);
  assert.deepEqual(calls.callees(3), { list: [{ row: 4, time: 0.6, counts: 6 }], rest: null });
  assert.deepEqual(calls.callers(5), { list: [], rest: { functions: 1, time: 0.1, counts: 1 } });
});

test("functions of events and of samples are found apart, and named with their place", () => {
  const calls = new Calls(model());
  assert.deepEqual(calls.sources.map((s) => [s.of, s.first, s.end]), [["events", 0, 3], ["samples", 3, 6]]);
  assert.deepEqual(calls.sources.map((s) => calls.find("lex", s)), [2, 3]);
  assert.equal(calls.find("memcpy", calls.sources[0]), -1);
  assert.deepEqual([0, 1, 2, 4, 5, -1].map((row) => calls.parts(row)), [
    { name: "main", place: "(a.lua:1)" }, { name: "parse", place: "(dir/a.lua:2)" }, { name: "lex", place: "" }, { name: "memcpy", place: "libc.so.6" }, { name: "(empty)", place: "" },
    { name: "(outermost)", place: "" },
  ]);
  assert.equal(calls.sourceOf(6), undefined);
});

test("flame graphs of calls, from the root and from the leaves", () => {
  const shape = (node: FlameNode): unknown => [node.name.split(" ")[0], node.total, node.self, ...node.children().map(shape)];
  const m = model();
  const calls = new Calls(m);
  const [events, samples] = calls.sources.map((s) => new CallTree(m, calls, s));
  assert.deepEqual(shape(events.down()), ["all", 12, 0, ["main", 10, 1, ["parse", 9, 2, ["parse", 4, 4], ["lex", 3, 2]]]]);
  assert.deepEqual(shape(events.up()), [
    "all", 12, 0, ["parse", 6, 6, ["parse", 4, 0, ["main", 4, 0]], ["main", 2, 0]], ["lex", 2, 2, ["parse", 2, 0, ["main", 2, 0]]], ["main", 1, 1], ["(in", 1, 0],
  ]);
  assert.equal(samples.down().children()[0].children()[0].name, "memcpy");
  assert.notDeepEqual(samples.down().children()[0].color, samples.down().children()[0].children()[0].color);
});
