// Trees of stacks for a selection: from the root down, from the leaves up, or by phase. Children are made when they are looked at.
import type { Model } from "./model";
import type { View } from "./state";

export interface FlameNode {
  name: string;
  total: number; // CPU seconds
  self: number;
  phase: number; // that held most of it; -1: of several, at the root
  parent: FlameNode | null;
  children(): FlameNode[];
}

interface Item {
  node: number; // row of frames
  phase: number;
  cpu: number;
}

const LEAST = 1 / 20000; // of the whole: narrower than a pixel of any screen, and left out of trees from the leaves up

export class Stacks {
  readonly slot: number;
  private readonly depth: Float64Array;
  private readonly name: Float64Array;
  private readonly parent: Int32Array;

  constructor(private readonly model: Model) {
    const frames = model.table("frames");
    this.depth = frames.numbers("depth");
    this.name = frames.numbers("name");
    this.parent = new Int32Array(frames.rows).fill(-1);
    const path: number[] = [];
    for (let i = 0; i < frames.rows; i++) {
      path.length = Math.max(0, this.depth[i] - 1);
      this.parent[i] = path[path.length - 1] ?? -1;
      path.push(i);
    }
    this.slot = Number(model.data.header.stacks?.["slot_s"] ?? 1);
  }

  get known(): boolean {
    return this.model.table("stacks_whole").rows > 0;
  }

  // The range as the stacks know it: whole slots.
  range(view: View): [number, number] | null {
    return view.range && [Math.floor(view.range[0] / this.slot + 1e-9) * this.slot, Math.ceil(view.range[1] / this.slot - 1e-9) * this.slot];
  }

  // Whether stacks are known by thread, by process, or of all together.
  get by(): string {
    const table = this.model.table("stacks");
    return table.has("thread") ? "thread" : table.has("process") ? "process" : "recording";
  }

  // What a row of stacks must be of: threads or processes, by row.
  private wanted(view: View): ((of: number) => boolean) | null {
    const { model } = this;
    if (this.by === "recording" || (view.units.length === 0 && view.thread < 0)) return null;
    const units = new Set(view.thread >= 0 ? [model.threads.unit[view.thread]] : view.units.map((row) => model.unitOfRow.get(row) ?? -1));
    if (this.by === "thread") return view.thread >= 0 ? (t) => t === view.thread : (t) => units.has(model.threads.unit[t]);
    const processes = new Set([...units].map((u) => model.units[u]?.process));
    return (p) => processes.has(p);
  }

  private items(view: View): Item[] {
    const whole = view.range === null && view.units.length === 0 && view.thread < 0;
    const table = this.model.table(whole ? "stacks_whole" : "stacks");
    const of = table.numbers(this.by);
    const slot = table.numbers("slot");
    const node = table.numbers("node");
    const phase = table.numbers("phase");
    const cpu = table.numbers("cpu");
    const wanted = this.wanted(view);
    const okPhase = this.model.phases.map((p) => view.phase === "" || p.key === view.phase || p.segment === view.phase);
    const range = this.range(view);
    const [a, b] = range ? [Math.round(range[0] / this.slot), Math.round(range[1] / this.slot)] : [-Infinity, Infinity];
    const out: Item[] = [];
    for (let i = 0; i < table.rows; i++) {
      if (!okPhase[phase[i]] || (wanted && !wanted(of[i])) || (range && !(slot[i] >= a && slot[i] < b))) continue;
      out.push({ node: node[i], phase: phase[i], cpu: cpu[i] });
    }
    return out;
  }

  tree(view: View): FlameNode {
    const items = this.items(view);
    const title = "all";
    if (view.flame === "up") return this.up(title, null, items, sum(items), true);
    if (view.flame === "down") return this.down(title, null, items);
    const total = sum(items);
    const byPhase = new Map<number, Item[]>();
    for (const item of items) {
      const list = byPhase.get(item.phase);
      if (list) list.push(item);
      else byPhase.set(item.phase, [item]);
    }
    const root: FlameNode = { name: title, total, self: 0, phase: -1, parent: null, children: () => children };
    const children: FlameNode[] = [...byPhase].map(([phase, list]) => {
      const p = this.model.phases[phase];
      return this.down(`${p.segment} › ${p.name}`, root, list);
    }).sort((x, y) => y.total - x.total);
    return root;
  }

  // Weights are summed from the ends of the tree to its root: a node's rows come after it.
  private down(title: string, above: FlameNode | null, items: Item[]): FlameNode {
    const frames = this.parent.length;
    const phases = this.model.phases.length;
    const self = new Float64Array(frames);
    const total = new Float64Array(frames);
    const by = new Float32Array(frames * phases);
    const all = new Float64Array(phases);
    for (const { node, phase, cpu } of items) {
      self[node] += cpu;
      total[node] += cpu;
      by[node * phases + phase] += cpu;
      all[phase] += cpu;
    }
    const kids = new Map<number, number[]>();
    for (let i = frames - 1; i >= 0; i--) {
      if (total[i] <= 0) continue;
      const p = this.parent[i];
      const list = kids.get(p);
      if (list) list.push(i);
      else kids.set(p, [i]);
      if (p < 0) continue;
      total[p] += total[i];
      for (let k = 0; k < phases; k++) by[p * phases + k] += by[i * phases + k];
    }
    const make = (i: number, parent: FlameNode): FlameNode => {
      let made: FlameNode[] | null = null;
      const node: FlameNode = {
        name: this.model.data.string(this.name[i]), total: total[i], self: self[i], phase: largest(by.subarray(i * phases, (i + 1) * phases)), parent,
        children: () => (made ??= (kids.get(i) ?? []).map((k) => make(k, node)).sort((x, y) => y.total - x.total)),
      };
      return node;
    };
    let made: FlameNode[] | null = null;
    const root: FlameNode = {
      name: title, total: sum(items), self: 0, phase: above ? largest(all) : -1, parent: above,
      children: () => (made ??= (kids.get(-1) ?? []).map((k) => make(k, root)).sort((x, y) => y.total - x.total)),
    };
    return root;
  }

  private up(title: string, parent: FlameNode | null, items: Item[], whole: number, leaves: boolean): FlameNode {
    let made: FlameNode[] | null = null;
    const phases = new Float64Array(this.model.phases.length);
    for (const item of items) phases[item.phase] += item.cpu;
    const total = sum(items);
    const node: FlameNode = {
      name: title, total, self: parent && !parent.parent ? total : 0, phase: parent ? largest(phases) : -1, parent,
      children: () => (made ??= this.callers(node, items, whole, leaves)),
    };
    return node;
  }

  private callers(node: FlameNode, items: Item[], whole: number, leaves: boolean): FlameNode[] {
    const groups = new Map<number, Item[]>();
    for (const item of items) {
      const at = leaves ? item.node : this.parent[item.node];
      if (at < 0) continue;
      const name = this.name[at];
      const list = groups.get(name);
      const next = { node: at, phase: item.phase, cpu: item.cpu };
      if (list) list.push(next);
      else groups.set(name, [next]);
    }
    return [...groups].filter(([, list]) => sum(list) >= whole * LEAST).map(([name, list]) => this.up(this.model.data.string(name), node, list, whole, false))
      .sort((x, y) => y.total - x.total);
  }
}

function sum(items: Item[]): number {
  let all = 0;
  for (const item of items) all += item.cpu;
  return all;
}

function largest(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}
