import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, fromFragment, toFragment, type View } from "../src/state";

test("a view comes back from its fragment", () => {
  const view: View = {
    ...EMPTY, recording: 1, units: [3, 4, 5, 9], thread: 12, phase: "backend/optimize", range: [1.25, 2.5], build: [0.000001, 30], time: "unit",
    lanes: "packed", flame: "up", fn: 7, of: "samples", fns: "x y", root: "a;b&c=d", find: "</script> é", sort: "wall_s", filter: "x y", at: "stacks",
  };
  assert.deepEqual(fromFragment(`#${toFragment(view)}`), view);
  assert.equal(toFragment(EMPTY), "");
  assert.ok(toFragment(view).includes("units=3-5.9"));
});

test("a fragment that somebody made up does no harm", () => {
  assert.deepEqual(fromFragment("#units=a.-1.99999999999&range=5_1&thread=-4&time=never&of=both&fn=x&__proto__=1&build=NaN_2"), EMPTY);
  assert.equal(fromFragment("#units=0-9999999").units.length, 100001);
  assert.deepEqual(fromFragment("#%"), EMPTY);
});
