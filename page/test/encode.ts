// The other side of docs/page-data.md, for tests: makes a recording's bytes out of plain lists.
import type { ColumnSpec, TableSpec } from "../src/decode";

type Value = number | string | null;

export class Encoder {
  private readonly parts: number[] = [];
  private readonly strings: string[] = [];
  readonly tables: Record<string, TableSpec> = {};

  private section(bytes: number[]): { at: number; bytes: number } {
    const at = this.parts.length;
    this.parts.push(...bytes);
    return { at, bytes: bytes.length };
  }

  text(value: string): number {
    const at = this.strings.indexOf(value);
    return at >= 0 ? at : this.strings.push(value) - 1;
  }

  // A column in the code that is asked for, with the steps that are asked for.
  column(type: string, values: Value[], spec: Partial<ColumnSpec> = {}, added: number[] = []): ColumnSpec {
    const out: ColumnSpec = { type, code: "varint", ...spec };
    if (out.code === "real") {
      const view = new Uint8Array(Float64Array.from(values, (v) => (v === null ? NaN : Number(v))).buffer);
      const bytes = Array.from({ length: 8 }, (_, k) => values.map((_v, row) => view[row * 8 + k]));
      return { ...out, ...this.section(bytes.flat()) };
    }
    let before = 0;
    const numbers = values.map((value, row) => {
      let n = typeof value === "string" ? this.text(value) : value;
      if (n !== null && out.per) n = Math.round(n * out.per);
      if (n !== null && out.plus) n -= out.plus.times * (added[row] ?? 0);
      if (n !== null && out.signed) n = n < 0 ? -2 * n - 1 : 2 * n;
      if (out.null) n = n === null ? 0 : n + 1;
      if (!out.delta) return n ?? 0;
      const step = (n ?? 0) - before;
      before = n ?? 0;
      return step < 0 ? -2 * step - 1 : 2 * step;
    });
    if (out.code === "const") return { ...out, value: numbers[0] };
    return { ...out, ...this.section(out.code === "planes" ? this.planes(numbers, out.width ?? 1) : numbers.flatMap(varint)) };
  }

  private planes(numbers: number[], width: number): number[] {
    return Array.from({ length: width }, (_, k) => numbers.map((n) => Math.floor(n / 256 ** k) % 256)).flat();
  }

  bytes(header: Record<string, unknown>): Uint8Array<ArrayBuffer> {
    const lengths = this.column("int", this.strings.map((s) => s.length));
    const strings = { count: this.strings.length, bytes: this.section([...new TextEncoder().encode(this.strings.join(""))]), lengths };
    const text = new TextEncoder().encode(JSON.stringify({ format: "lamella-page", version: 1, tables: this.tables, strings, ...header }));
    const out = new Uint8Array(4 + text.length + this.parts.length);
    new DataView(out.buffer).setUint32(0, text.length, true);
    out.set(text, 4);
    out.set(this.parts, 4 + text.length);
    return out;
  }
}

function varint(n: number): number[] {
  const out: number[] = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) + 128);
  out.push(n);
  return out;
}
