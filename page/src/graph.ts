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
  readonly criticalEdges = new Set<string>();

  constructor(private readonly model: Model) {
    this.readEdges(model.table("unit_deps"));
    this.readCritical(model.table("critical_path"), model.unitTable);
  }

  // A unit by its row, or by its name where a table has only that.
  private finder(table: Table, column: string): (row: number) => number | undefined {
    const { model } = this;
    for (const name of [`${column}_row`, column])
      if (table.type(name) === "row") return (row) => model.unitOfRow.get(table.number(name, row) ?? -1);
    const byName = new Map(model.units.map((unit, i) => [unit.name, i]));
    return (row) => byName.get(table.text(column, row) ?? "");
  }

  private readEdges(table: Table): void {
    const unit = this.finder(table, "unit");
    const dep = this.finder(table, "dep");
    for (let row = 0; row < table.rows; row++) {
      const edge = { unit: unit(row) ?? -1, dep: dep(row) ?? -1, kind: table.text("kind", row) ?? "" };
      if (edge.unit < 0 || edge.dep < 0) continue;
      this.edges.push(edge);
      push(this.before, edge.unit, edge);
      push(this.after, edge.dep, edge);
    }
  }

  private readCritical(path: Table, units: Table): void {
    const unit = this.finder(path, "unit");
    let last = -1;
    for (let row = 0; row < path.rows; row++) {
      const at = unit(row);
      if (at === undefined) continue;
      this.critical.add(at);
      if (last >= 0) this.criticalEdges.add(`${last} ${at}`).add(`${at} ${last}`);
      last = at;
    }
    if (!units.has("critical")) return;
    const flag = units.numbers("critical");
    this.model.units.forEach((u, i) => u.row >= 0 && flag[u.row] === 1 && this.critical.add(i));
  }

  // When what a unit waited for was there: its metadata where that was enough, else its end.
  readyAt(edge: Edge): number {
    const dep = this.model.units[edge.dep];
    const rmeta = this.model.unitTable.number("rmeta_s", dep.row);
    const end = rmeta !== null && edge.kind === "metadata" ? dep.start + rmeta : dep.end;
    return Math.min(end, dep.end);
  }
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
