// Reads what docs/page-data.md describes: a header in JSON, and columns of numbers behind it.

export interface ColumnSpec {
  type: string;
  code: string;
  at?: number;
  bytes?: number;
  width?: number;
  value?: number;
  delta?: boolean;
  null?: boolean;
  signed?: boolean;
  plus?: Term;
  terms?: Term[];
  min?: number;
  per?: number;
  of?: string;
}

// What a column owes to another one of its table.
export interface Term {
  column: string;
  times: number;
}

export interface TableSpec {
  rows: number;
  parent?: string;
  columns: Record<string, ColumnSpec>;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Header {
  format: string;
  version: number;
  name?: string | null;
  set?: number;
  redacted?: boolean;
  session?: Record<string, Json>;
  coverage?: Record<string, Json>;
  findings?: Finding[];
  links?: Link[][];
  segments?: string[];
  phases?: { segment: number; name: string }[];
  roles?: string[];
  wait_kinds?: string[];
  strings?: { count: number; bytes: { at: number; bytes: number }; lengths: ColumnSpec };
  tables: Record<string, TableSpec>;
  meanings?: Record<string, Record<string, { unit?: string; meaning: string }>>;
  stacks?: Record<string, Json>;
  spans?: Record<string, Json>;
  events?: Record<string, Json>;
  rounding?: string[];
  [key: string]: unknown;
}

export interface Link {
  view: string;
  unit?: number;
  phase?: number;
  from_s?: number;
  to_s?: number;
}

export interface Finding {
  id: string;
  severity: string;
  text: string;
  seconds?: number | null;
  unit?: string | null;
  links?: Link[];
}

export class DataError extends Error {}

async function inflate(text: string): Promise<Uint8Array> {
  const raw = atob(text.trim());
  const packed = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) packed[i] = raw.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function varints(bytes: Uint8Array, rows: number, out: Float64Array): void {
  let at = 0;
  for (let row = 0; row < rows; row++) {
    let byte = bytes[at++];
    let value = byte & 127;
    let unit = 128;
    while (byte > 127) {
      byte = bytes[at++];
      value += (byte & 127) * unit;
      unit *= 128;
    }
    out[row] = value;
  }
  if (at !== bytes.length) throw new DataError("a column is longer or shorter than its table");
}

function planes(bytes: Uint8Array, rows: number, width: number, out: Float64Array): void {
  let unit = 1;
  for (let k = 0; k < width; k++, unit *= 256) for (let row = 0; row < rows; row++) out[row] += bytes[k * rows + row] * unit;
}

function reals(bytes: Uint8Array, rows: number, out: Float64Array): void {
  const view = new Uint8Array(out.buffer);
  for (let k = 0; k < 8; k++) for (let row = 0; row < rows; row++) view[row * 8 + k] = bytes[k * rows + row];
}

const unzigzag = (n: number): number => (n % 2 === 0 ? n / 2 : -(n + 1) / 2);

// One number a row, before it is divided; NaN is null.
export function decodeColumn(spec: ColumnSpec, rows: number, sections: Uint8Array): Float64Array {
  const out = new Float64Array(rows);
  const bytes = sections.subarray(spec.at ?? 0, (spec.at ?? 0) + (spec.bytes ?? 0));
  if (spec.code === "const") out.fill(spec.value ?? 0);
  else if (spec.code === "varint") varints(bytes, rows, out);
  else if (spec.code === "planes") planes(bytes, rows, spec.width ?? 1, out);
  else if (spec.code === "real") reals(bytes, rows, out);
  else throw new DataError(`a column in a code that this page does not know: ${spec.code}`);
  if (spec.code === "real") return out;
  let before = 0;
  for (let row = 0; row < rows; row++) {
    let n = out[row];
    if (spec.delta) n = before += unzigzag(n);
    if (spec.null) n = n === 0 ? NaN : n - 1;
    if (spec.signed) n = unzigzag(n);
    out[row] = n;
  }
  return out;
}

// Null where the other is; with `keeps` the number stays as it is there.
function add(out: Float64Array, times: number, other: Float64Array, keeps: boolean): void {
  for (let row = 0; row < out.length; row++) if (!keeps || !Number.isNaN(other[row])) out[row] += times * other[row];
}

export class Table {
  private readonly cache = new Map<string, Float64Array>();

  constructor(
    readonly name: string,
    private readonly spec: TableSpec,
    private readonly data: Data,
  ) {}

  get rows(): number {
    return this.spec.rows;
  }

  get columns(): string[] {
    return Object.keys(this.spec.columns);
  }

  has(column: string): boolean {
    return column in this.spec.columns;
  }

  type(column: string): string {
    return this.spec.columns[column]?.type ?? "";
  }

  // A column that is not there is all null.
  numbers(column: string): Float64Array {
    let found = this.cache.get(column);
    if (!found) {
      found = this.once(column);
      this.cache.set(column, found);
    }
    return found;
  }

  // The same without keeping it: for columns that become something else.
  once(column: string): Float64Array {
    const out = this.whole(column);
    const per = this.spec.columns[column]?.per;
    if (per) for (let row = 0; row < out.length; row++) out[row] /= per;
    return out;
  }

  private whole(column: string): Float64Array {
    const spec = this.spec.columns[column];
    if (!spec) return new Float64Array(this.rows).fill(NaN);
    if (spec.code === "sum") {
      const out = new Float64Array(this.rows);
      for (const { column: other, times } of spec.terms ?? []) add(out, times, this.whole(other), false);
      if (spec.min !== undefined) for (let row = 0; row < out.length; row++) if (out[row] < spec.min) out[row] = spec.min;
      return out;
    }
    const out = decodeColumn(spec, this.rows, this.data.sections);
    if (spec.plus) add(out, spec.plus.times, this.whole(spec.plus.column), true);
    return out;
  }

  number(column: string, row: number): number | null {
    const n = this.numbers(column)[row];
    return Number.isNaN(n) ? null : n;
  }

  text(column: string, row: number): string | null {
    const n = this.number(column, row);
    return n === null ? null : this.data.word(this.type(column), n);
  }

  // As the report's JSON has it.
  value(column: string, row: number): Json {
    const type = this.type(column);
    const n = this.number(column, row);
    if (n === null || type === "int" || type === "real" || type === "row") return n;
    return type === "bool" ? n !== 0 : this.data.word(type, n);
  }

  // Rows of this table by the row of the outer one.
  byParent(): Map<number, number[]> {
    const out = new Map<number, number[]>();
    const parents = this.numbers("row");
    for (let row = 0; row < this.rows; row++) {
      const list = out.get(parents[row]);
      if (list) list.push(row);
      else out.set(parents[row], [row]);
    }
    return out;
  }
}

export class Data {
  readonly header: Header;
  readonly sections: Uint8Array;
  private strings: string[] | null = null;
  private readonly tables = new Map<string, Table>();

  constructor(bytes: Uint8Array) {
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as Header;
    if (this.header.format !== "lamella-page" || this.header.version !== 1) throw new DataError("data of another version than this page");
    this.header.findings?.forEach((finding, i) => (finding.links = this.header.links?.[i] ?? []));
    this.sections = bytes.subarray(4 + length);
  }

  static async read(element: Element): Promise<Data> {
    return new Data(await inflate(element.textContent ?? ""));
  }

  table(name: string): Table {
    let table = this.tables.get(name);
    if (!table) {
      table = new Table(name, this.header.tables[name] ?? { rows: 0, columns: {} }, this);
      this.tables.set(name, table);
    }
    return table;
  }

  has(name: string): boolean {
    return (this.header.tables[name]?.rows ?? 0) > 0;
  }

  string(number: number): string {
    this.strings ??= this.readStrings();
    return this.strings[number] ?? "";
  }

  word(type: string, n: number): string {
    const { phases, segments, roles, wait_kinds: kinds } = this.header;
    if (type === "text") return this.string(n);
    if (type === "phase") return phases?.[n]?.name ?? "";
    const list = type === "segment" ? segments : type === "role" ? roles : type === "wait" ? kinds : undefined;
    return list?.[n] ?? String(n);
  }

  private readStrings(): string[] {
    const spec = this.header.strings;
    if (!spec) return [];
    const bytes = this.sections.subarray(spec.bytes.at, spec.bytes.at + spec.bytes.bytes);
    const all = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    const lengths = decodeColumn(spec.lengths, spec.count, this.sections);
    let at = 0;
    return Array.from(lengths, (length) => all.slice(at, (at += length)));
  }
}

export async function readJson(element: Element): Promise<Json> {
  return JSON.parse(new TextDecoder().decode(await inflate(element.textContent ?? ""))) as Json;
}
