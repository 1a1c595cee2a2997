// Flame graphs of who calls whom: the tree of calls from the root, and from the leaves up. Figures are exact; branches that the page has no
// room for are missing in their place, from the leaves they are one box.
import type { Calls, Source } from "./call_data";
import { oklch, type Rgb } from "./color";
import type { FlameNode } from "./flame_tree";
import type { Model } from "./model";
import { hash } from "./palette";

const SHADES = [0.68, 0.74, 0.8, 0.86];
const INTERPRETED = 255; // hues
const NATIVE = 50;
const SMALL = "(in small branches)";

export const shadeOf = (name: string, isNative: boolean): Rgb => oklch(SHADES[hash(name) % SHADES.length], 0.1, isNative ? NATIVE : INTERPRETED);

interface Item {
  node: number;
  self: number;
}

export class CallTree {
  private readonly parent: Int32Array;
  private readonly row: Float64Array; // the function of each node
  private readonly self: Float64Array;
  private readonly time: Float64Array;
  private readonly counts: Float64Array;
  private readonly children = new Map<number, number[]>(); // -1: of the root

  constructor(
    model: Model,
    private readonly calls: Calls,
    private readonly source: Source,
  ) {
    const table = model.table("call_tree");
    const depth = table.numbers("depth");
    const units = source.isTime ? "s" : "units";
    this.row = table.numbers("function");
    this.self = table.numbers(`self_${units}`);
    this.time = table.numbers(`time_${units}`);
    this.counts = table.numbers(source.of === "samples" ? "samples" : "count");
    this.parent = new Int32Array(table.rows).fill(-1);
    const path: number[] = [];
    for (let i = 0; i < table.rows; i++) {
      path.length = Math.max(0, depth[i] - 1);
      this.parent[i] = path[path.length - 1] ?? -1;
      path.push(i);
      if (this.row[i] < source.first || this.row[i] >= source.end) continue;
      const list = this.children.get(this.parent[i]);
      if (list) list.push(i);
      else this.children.set(this.parent[i], [i]);
    }
  }

  private make(at: number, row: number, amounts: Pick<FlameNode, "total" | "self" | "counts">, parent: FlameNode, children: (node: FlameNode) => FlameNode[]): FlameNode {
    let made: FlameNode[] | null = null;
    const name = at < 0 ? SMALL : this.calls.name(row);
    const node: FlameNode = {
      name, ...amounts, phase: -1, parent, row, children: () => (made ??= children(node)),
      ...(at < 0 ? {} : { color: shadeOf(name, this.calls.kind(row) === "") }),
    };
    return node;
  }

  private root(children: (root: FlameNode) => FlameNode[]): FlameNode {
    let made: FlameNode[] | null = null;
    const root: FlameNode = { name: "all", total: this.source.whole, self: 0, phase: -1, parent: null, children: () => (made ??= children(root)) };
    return root;
  }

  down(): FlameNode {
    const below = (at: number, parent: FlameNode): FlameNode[] => (this.children.get(at) ?? []).map((i) =>
      this.make(i, this.row[i], { total: this.time[i], self: this.self[i], counts: this.counts[i] }, parent, (node) => below(i, node)));
    return this.root((root) => below(-1, root));
  }

  up(): FlameNode {
    return this.root((root) => {
      const items: Item[] = [];
      let small = 0; // what is inside of nodes that are there, in some that are not
      for (const [above, nodes] of this.children)
        for (const node of nodes) {
          if (this.self[node] > 0) items.push({ node, self: this.self[node] });
          small += (above < 0 ? this.time[node] : 0) - this.self[node];
        }
      const leaves = this.group(items, root, true);
      return small > root.total * 1e-6 ? [...leaves, this.make(-1, -1, { total: small, self: 0 }, root, () => [])] : leaves;
    });
  }

  // Items by the function of their node.
  private group(items: Item[], parent: FlameNode, areLeaves: boolean): FlameNode[] {
    const byRow = new Map<number, Item[]>();
    for (const item of items) {
      const list = byRow.get(this.row[item.node]);
      if (list) list.push(item);
      else byRow.set(this.row[item.node], [item]);
    }
    return [...byRow].map(([row, list]) => {
      const total = list.reduce((sum, item) => sum + item.self, 0);
      return this.make(list[0].node, row, { total, self: areLeaves ? total : 0 }, parent, (node) =>
        this.group(list.map((item) => ({ node: this.parent[item.node], self: item.self })).filter((item) => item.node >= 0), node, false));
    }).sort((a, b) => b.total - a.total);
  }
}
