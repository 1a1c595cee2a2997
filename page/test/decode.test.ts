import assert from "node:assert/strict";
import { test } from "node:test";
import { Data } from "../src/decode";
import { Model } from "../src/model";
import { Encoder } from "./encode";

const big = 2 ** 52 + 12345;

test("columns in every code and step", () => {
  const e = new Encoder();
  const columns = {
    plain: e.column("int", [0, 127, 128, big]),
    nulls: e.column("int", [null, 0, 5, null], { null: true }),
    down: e.column("int", [-7, 3, -1e6, null], { null: true, signed: true }),
    delta: e.column("int", [5, null, 900, 2], { null: true, delta: true }),
    time: e.column("int", [0.25, 1.000000001, 3, 4], { per: 1e9, delta: true }),
    wide: e.column("int", [1, 256, 65536, 70000], { code: "planes", width: 3 }),
    same: e.column("int", [7, 7, 7, 7], { code: "const" }),
    real: e.column("real", [0.1, null, -1e300, 0], { code: "real" }),
    name: e.column("text", ["", "é\u0000</script>", "😀", null], { null: true }),
    sum: e.column("int", [0.5, 1, null, 3], { per: 10, null: true, signed: true, plus: { column: "down", times: 2 } }, [-7, 3, -1e6]),
    flag: e.column("bool", [0, 1, 1, 0]),
  };
  e.tables["t"] = { rows: 4, columns };
  const t = new Data(e.bytes({})).table("t");
  assert.deepEqual([...t.numbers("plain")], [0, 127, 128, big]);
  assert.deepEqual([...t.numbers("nulls")], [NaN, 0, 5, NaN]);
  assert.deepEqual([...t.numbers("down")], [-7, 3, -1e6, NaN]);
  assert.deepEqual([...t.numbers("delta")], [5, NaN, 900, 2]);
  assert.deepEqual([...t.numbers("time")], [0.25, 1.000000001, 3, 4]);
  assert.deepEqual([...t.numbers("wide")], [1, 256, 65536, 70000]);
  assert.deepEqual([...t.numbers("same")], [7, 7, 7, 7]);
  assert.deepEqual([...t.numbers("real")], [0.1, NaN, -1e300, 0]);
  assert.deepEqual([0, 1, 2, 3].map((row) => t.text("name", row)), ["", "é\u0000</script>", "😀", null]);
  assert.deepEqual([...t.numbers("sum")], [0.5, 1, NaN, 3], "what another column adds; nothing where that is null");
  assert.equal(t.value("flag", 1), true);
  assert.ok(Number.isNaN(t.numbers("absent")[2]), "a column that is not there is null");
});

test("a cut column is an error and not a wrong figure", () => {
  const e = new Encoder();
  const cut = e.column("int", [1, 2, 3]);
  e.tables["t"] = { rows: 4, columns: { cut } };
  assert.throws(() => new Data(e.bytes({})).table("t").numbers("cut"));
});

test("data of a later version is refused", () => {
  assert.throws(() => new Data(new Encoder().bytes({ version: 2 })), /version/);
});

test("spans lie where their threads put them", () => {
  const e = new Encoder();
  const per = 1e6;
  e.tables["threads"] = {
    rows: 2,
    columns: {
      process: e.column("row", [0, 0]), start_s: e.column("int", [1, 2.5], { per: 1e9 }), end_s: e.column("int", [3, 4], { per: 1e9 }),
      spans: e.column("int", [2, 1]), name: e.column("text", ["main", "worker"]), main: e.column("bool", [1, 0]),
    },
  };
  e.tables["processes"] = { rows: 1, columns: { unit_row: e.column("row", [0], { null: true }), exe: e.column("text", ["/bin/rustc"]) } };
  e.tables["units"] = { rows: 1, columns: { process: e.column("row", [0]), unit: e.column("text", ["a 1.0"]), start_s: e.column("int", [1], { per: 1e9 }) } };
  e.tables["spans"] = {
    rows: 3,
    columns: {
      gap: e.column("int", [0.000001, 0, -0.5], { per, signed: true }), length: e.column("int", [0.5, 0.25, 1], { per }),
      phase: e.column("phase", [0, 1, 0]),
    },
  };
  const phases = [{ segment: 0, name: "parse" }, { segment: 1, name: "optimize" }];
  const model = new Model(new Data(e.bytes({ segments: ["frontend", "backend"], phases, spans: { quantum_s: 1e-6 } })), 0);
  assert.deepEqual([...model.spans.start], [1.000001, 1.500001, 2]);
  assert.deepEqual([...model.spans.end], [1.500001, 1.750001, 3]);
  assert.deepEqual(model.units.map((u) => [u.name, u.threads]), [["a 1.0", [0, 1]]]);
  assert.deepEqual(model.phases.map((p) => p.key), ["frontend/parse", "backend/optimize"]);
});

test("a recording of nothing is read", () => {
  const model = new Model(new Data(new Encoder().bytes({ tables: {} })), 0);
  assert.deepEqual([model.units.length, model.threads.count, model.spans.start.length], [0, 0, 0]);
});
