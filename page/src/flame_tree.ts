// Trees of stacks for a selection: from the root down, from the leaves up, or by phase. Children are made when they are looked at.
import type { Rgb } from "./color";
import type { Model } from "./model";
import type { View } from "./state";
import { eachSpan } from "./summary";

export interface FlameNode {
  name: string;
  total: number; // CPU seconds
  self: number;
  phase: number; // that held most of it; -1: of several, at the root
  parent: FlameNode | null;
  row?: number; // of the functions that call each other, where it is known
  counts?: number; // calls, or samples
  color?: Rgb; // else that of its phase
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
    this.slot = Number(model.data.header.stacks?.["slot_s"] ?? Infinity);
  }

  get known(): boolean {
    return this.model.table("stacks_whole").rows > 0;
  }

  // The range as the stacks know it: whole slots. Null where all time is one.
  range(view: View): [number, number] | null {
    if (!view.range || this.slot === Infinity) return null;
    return [Math.floor(view.range[0] / this.slot + 1e-9) * this.slot, Math.ceil(view.range[1] / this.slot - 1e-9) * this.slot];
  }

  // Whether stacks are known by thread, by process, or of all together.
  get by(): string {
    const table = this.model.table("stacks");
    return table.has("thread") ? "thread" : table.has("process") ? "process" : "recording";
  }

  private items(view: View): Item[] {
    const okPhase = this.model.phases.map((p) => view.phase === "" || p.key === view.phase || p.segment === view.phase);
    if (view.range !== null || view.units.length > 0 || view.thread >= 0) return this.parts(view, okPhase);
    const table = this.model.table("stacks_whole");
    const [node, phase, cpu] = [table.numbers("node"), table.numbers("phase"), table.numbers("cpu")];
    const out: Item[] = [];
    for (let i = 0; i < table.rows; i++) if (okPhase[phase[i]]) out.push({ node: node[i], phase: phase[i], cpu: cpu[i] });
    return out;
  }

  // CPU time of what is selected, by place (what stacks are known by) and phase: spans know it at any time.
  private seconds(view: View): Map<number, Float64Array> {
    const { model } = this;
    const process = model.table("threads").numbers("process");
    const byThread = this.by === "thread";
    const { cpu } = model.facts();
    const out = new Map<number, Float64Array>();
    eachSpan(model, view, (thread, span, share) => {
      const place = byThread ? thread : process[thread];
      let sums = out.get(place);
      if (!sums) out.set(place, (sums = new Float64Array(model.phases.length)));
      sums[model.spans.phase[span]] += cpu[span] * share;
    });
    return out;
  }

  // What the spans say of each place and phase is divided among its stacks by their samples: those of the slots that are selected,
  // or where none of those saw the phase, of all.
  private parts(view: View, okPhase: boolean[]): Item[] {
    const table = this.model.table("stacks");
    const [of, slot, node, phase, samples] = [this.by, "slot", "node", "phase", "samples"].map((name) => table.numbers(name));
    const range = this.range(view);
    const [a, b] = range ? [Math.round(range[0] / this.slot), Math.round(range[1] / this.slot)] : [-Infinity, Infinity];
    const phases = this.model.phases.length;
    const seconds = this.seconds(view);
    const inside = new Map<number, number>(); // samples by place and phase
    const all = new Map<number, number>();
    const within = (i: number): boolean => !range || (slot[i] >= a && slot[i] < b);
    const rows: number[] = [];
    for (let i = 0; i < table.rows; i++) {
      if (!okPhase[phase[i]] || !(seconds.get(of[i])?.[phase[i]]! > 0)) continue;
      const key = of[i] * phases + phase[i];
      all.set(key, (all.get(key) ?? 0) + samples[i]);
      if (within(i)) inside.set(key, (inside.get(key) ?? 0) + samples[i]);
      rows.push(i);
    }
    const out: Item[] = [];
    for (const i of rows) {
      const key = of[i] * phases + phase[i];
      const known = inside.get(key);
      if (known && !within(i)) continue;
      const share = samples[i] / (known || all.get(key)!);
      if (share > 0) out.push({ node: node[i], phase: phase[i], cpu: seconds.get(of[i])![phase[i]] * share });
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
