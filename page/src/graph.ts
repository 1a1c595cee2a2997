// Which unit waits for which, where that is known.
import type { Table } from "./decode";
import type { Model } from "./model";

export interface Edge {
  unit: number; // indexes into model.units
  dep: number;
  kind: string;
}

export class Graph {
  readonly edges: Edge[] = [];
  readonly before = new Map<number, Edge[]>();
  readonly after = new Map<number, Edge[]>();
  readonly critical = new Set<number>();
  readonly chain: number[] = []; // the critical path, in order

  constructor(private readonly model: Model) {
    this.readEdges(model.table("unit_deps"));
    this.readCritical(model.table("critical_path"), model.unitTable);
  }

  // A unit by its row, or by its name and process where a table has only these.
  private finder(table: Table, column: string, pid: string): (row: number) => number | undefined {
    const { model } = this;
    if (table.type(column) === "row") return (row) => model.unitOfRow.get(table.number(column, row) ?? -1);
    const pids = model.unitTable.numbers("pid");
    const byName = new Map(model.units.map((unit, i) => [`${unit.name}\n${pids[unit.row]}`, i]));
    return (row) => byName.get(`${table.text(column, row)}\n${table.number(pid, row)}`);
  }

  private readEdges(table: Table): void {
    const unit = this.finder(table, "unit", "pid");
    const dep = this.finder(table, "dep", "dep_pid");
    const contradicted = table.numbers("contradicted");
    for (let row = 0; row < table.rows; row++) {
      const edge = { unit: unit(row) ?? -1, dep: dep(row) ?? -1, kind: table.text("kind", row) ?? "" };
      if (edge.unit < 0 || edge.dep < 0 || contradicted[row] === 1) continue;
      this.edges.push(edge);
      push(this.before, edge.unit, edge);
      push(this.after, edge.dep, edge);
    }
  }

  private readCritical(path: Table, units: Table): void {
    const unit = this.finder(path, "unit", "pid");
    for (let row = 0; row < path.rows; row++) {
      const at = unit(row);
      if (at !== undefined) this.chain.push(at);
    }
    for (const at of this.chain) this.critical.add(at);
    if (!units.has("on_critical_path")) return;
    const flag = units.numbers("on_critical_path");
    this.model.units.forEach((u, i) => u.row >= 0 && flag[u.row] === 1 && this.critical.add(i));
  }

  // When what a unit waited for was there: its metadata where that was enough, else its end.
  readyAt(edge: Edge): number {
    const dep = this.model.units[edge.dep];
    const metadata = edge.kind === "metadata" ? metadataAt(this.model, edge.dep) : null;
    return Math.min(metadata ?? dep.end, dep.end);
  }
}

// When other units could be compiled against it; null where that is not known, or is its end.
export function metadataAt(model: Model, unit: number): number | null {
  const { row, start, end } = model.units[unit];
  const at = model.unitTable.number("metadata_at_s", row);
  const rmeta = model.unitTable.number("rmeta_s", row);
  const when = at ?? (rmeta === null ? null : start + rmeta);
  return when !== null && when > start && when < end ? when : null;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
