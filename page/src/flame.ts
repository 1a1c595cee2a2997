// The flame graph of a selection, root at the top.
import type { Calls, Source } from "./call_data";
import { CallTree, shadeOf } from "./call_tree";
import { inkOn, css, mix, type Rgb } from "./color";
import { button, choice, el, figure, cell, foldedTable, plainTable } from "./dom";
import { Stacks, type FlameNode } from "./flame_tree";
import { count, duration, percent, plural, seconds, visible } from "./format";
import type { Model } from "./model";
import { Pane } from "./pane";
import type { State } from "./state";
import { describeSelection } from "./summary";
import { inks } from "./theme";
import { hideTip, showTip } from "./tooltip";

const ROW = 19;

interface Box {
  node: FlameNode;
  x: number; // of the width, 0 to 1
  w: number;
  depth: number;
}

export class Flame {
  readonly root = el("div", { class: "flame" });
  readonly search = el("input", { type: "search", placeholder: "search frames", "aria-label": "Search frames" });
  private readonly pane: Pane;
  private readonly scroller: HTMLDivElement;
  private readonly spacer = el("div", { class: "spacer" });
  private readonly said = el("p", { class: "scope", "aria-live": "polite" });
  private readonly stacks: Stacks;
  private readonly which: ReturnType<typeof choice>;
  private readonly measured: ReturnType<typeof choice>;
  private readonly out: HTMLButtonElement;
  private readonly around: HTMLButtonElement;
  private readonly note = el("p", { class: "note" });
  private readonly trees = new Map<Source, CallTree>();
  private readonly table = foldedTable("Table of the functions with most CPU time of their own", () => this.asTable());
  private tree: FlameNode | null = null;
  private boxes: Box[] = [];
  private byDepth: Box[][] = [];
  private cursor: FlameNode | null = null;
  private key = "";

  constructor(
    private readonly model: Model,
    private readonly state: State,
    private readonly calls: Calls,
    choose: (row: number) => void,
  ) {
    this.stacks = new Stacks(model);
    this.pane = new Pane("Flame graph. Keys: arrows move between frames, Enter zooms in, Escape out.", () => this.draw(), "flamepane");
    this.scroller = el("div", { class: "scroller flamepane" }, this.pane.box, this.spacer);
    this.scroller.addEventListener("scroll", () => this.pane.invalidate(), { passive: true });
    const sources = calls.sources.filter((s) => s.hasTree);
    const ways: [State["view"]["flame"], string][] = [["down", "from the root"], ["up", "from the leaves"]];
    if (sources.length === 0 && model.hasPhases) ways.push(["phase", "by phase"]);
    this.which = choice("Way up", ways, () => (state.view.flame === "phase" && ways.length < 3 ? "down" : state.view.flame), (flame) => state.set({ flame, root: "" }));
    this.measured = choice("What was measured", sources.map((s) => [s.of, s.of === "events" ? "calls, by the clock" : "samples, CPU time"]), () => this.source?.of ?? "samples", (of) => state.set({ of, fn: -1, root: "" }));
    this.measured.hidden = sources.length < 2;
    this.out = button("Zoom out", () => state.set({ root: "" }));
    this.around = button("Callers and callees", () => choose(this.rowOf(this.focus)));
    this.around.hidden = !calls.known;
    this.search.addEventListener("input", () => state.set({ frames: this.search.value }));
    this.root.append(el("div", { class: "tools" }, this.measured, this.which, this.search, this.out, this.around), this.said, this.scroller, this.note, this.table);
    const { canvas } = this.pane;
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("click", (event) => {
      const box = this.at(event);
      if (box) this.zoom(box.node);
    });
    canvas.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.onKey(event.key)) event.preventDefault();
    });
    new ResizeObserver(() => this.place()).observe(this.scroller);
  }

  // What the calls say of the whole; of a selection the stacks of samples know more.
  private get source(): Source | null {
    const { fn, of, units, thread, phase, range } = this.state.view;
    const sources = this.calls.sources.filter((s) => s.hasTree);
    const source = sources.find((s) => s === this.calls.sourceOf(fn)) ?? sources.find((s) => s.of === of) ?? sources[0];
    const isPart = units.length > 0 || thread >= 0 || phase !== "" || range !== null;
    return !source || (isPart && source.of === "samples" && this.stacks.known) ? null : source;
  }

  private makeTree(source: Source | null): FlameNode {
    const { view } = this.state;
    if (!source) return this.stacks.tree(view);
    let tree = this.trees.get(source);
    if (!tree) this.trees.set(source, (tree = new CallTree(this.model, this.calls, source)));
    return view.flame === "up" ? tree.up() : tree.down();
  }

  private rowOf(node: FlameNode): number {
    return node.row ?? this.calls.find(node.name, this.calls.sources.find((s) => s.of === "samples"));
  }

  refresh(): void {
    const { view } = this.state;
    this.which.refresh();
    this.measured.refresh();
    if (this.search.value !== view.frames) this.search.value = view.frames;
    const { source } = this;
    if (!this.stacks.known && !source) {
      this.root.replaceChildren(el("p", { class: "empty" }, "This page has no stacks."));
      return;
    }
    const key = JSON.stringify([view.units, view.thread, view.phase, view.range, view.flame, source?.of]);
    if (key !== this.key) {
      this.tree = this.makeTree(source);
      this.cursor = null;
      this.key = key;
      this.table.dispatchEvent(new Event("refresh"));
    }
    this.place();
    this.say();
  }

  private get focus(): FlameNode {
    let node = this.tree!;
    for (const part of this.state.view.root.split(".").filter(Boolean)) {
      const next = node.children()[Number(part)];
      if (!next) break;
      node = next;
    }
    return node;
  }

  private zoom(node: FlameNode): void {
    const path: number[] = [];
    for (let n: FlameNode | null = node; n?.parent; n = n.parent) path.unshift(n.parent.children().indexOf(n));
    const row = node.parent ? this.rowOf(node) : -1;
    this.state.set({ root: path.join("."), ...(row >= 0 ? { fn: row } : {}) }); // what is around it shows beside the list of functions
  }

  // Frames above the one in focus at full width, and all below it that are wide enough to be seen.
  private place(): void {
    if (!this.tree || this.pane.width <= 0) return;
    const boxes: Box[] = [];
    const focus = this.focus;
    const above: FlameNode[] = [];
    for (let n: FlameNode | null = focus; n; n = n.parent) above.unshift(n);
    above.forEach((node, depth) => boxes.push({ node, x: 0, w: 1, depth }));
    const least = 0.5 / this.pane.width;
    const walk = (node: FlameNode, x: number, depth: number): void => {
      let at = x;
      for (const child of node.children()) {
        const w = focus.total > 0 ? child.total / focus.total : 0;
        if (w < least) break; // sorted: the rest is narrower still
        boxes.push({ node: child, x: at, w, depth });
        walk(child, at, depth + 1);
        at += w;
      }
    };
    walk(focus, 0, above.length);
    this.boxes = boxes;
    this.byDepth = [];
    for (const box of boxes) (this.byDepth[box.depth] ??= []).push(box);
    const content = this.byDepth.length * ROW + 2;
    const height = Math.min(content, Math.max(200, Math.round(innerHeight * 0.7)));
    this.pane.setHeight(height);
    this.scroller.style.maxHeight = `${height}px`;
    this.spacer.style.height = `${content - height}px`;
    this.pane.invalidate();
  }

  private found(name: string): boolean {
    const { frames } = this.state.view;
    return frames !== "" && name.toLowerCase().includes(frames.toLowerCase());
  }

  private draw(): void {
    const { pane } = this;
    pane.clear();
    const { back, mark } = inks();
    const first = Math.floor(this.scroller.scrollTop / ROW);
    const last = Math.min(this.byDepth.length, Math.ceil((this.scroller.scrollTop + pane.height) / ROW));
    const searching = this.state.view.frames !== "";
    const focusDepth = this.focusDepth();
    pane.font(11.5);
    pane.ctx.textAlign = "left";
    for (let depth = first; depth < last; depth++)
      for (const { node, x, w } of this.byDepth[depth] ?? []) {
        const left = x * pane.width;
        const width = Math.max(0.5, w * pane.width - (w * pane.width > 3 ? 1 : 0));
        const top = depth * ROW - this.scroller.scrollTop;
        let color = this.colorOf(node);
        if (depth < focusDepth || (searching && !this.found(node.name))) color = mix(back, color, 0.4);
        pane.ctx.fillStyle = css(color);
        pane.ctx.fillRect(left, top, width, ROW - 1);
        if (searching && this.found(node.name)) {
          pane.ctx.fillStyle = mark;
          pane.ctx.fillRect(left, top + ROW - 4, width, 3);
        }
        if (node === this.cursor) {
          pane.ctx.strokeStyle = mark;
          pane.ctx.lineWidth = 2;
          pane.ctx.strokeRect(left + 1, top + 1, Math.max(1, width - 2), ROW - 3);
        }
        const text = this.label(visible(node.name), width - 8);
        if (text) {
          pane.ctx.fillStyle = inkOn(color);
          pane.ctx.fillText(text, left + 4, top + ROW / 2);
        }
      }
  }

  // Phases say nothing of a program that builds nothing: there neighbours are told apart.
  private colorOf(node: FlameNode): Rgb {
    if (node.color) return node.color;
    if (node.phase < 0) return inks().row;
    return this.model.hasPhases ? this.model.phases[node.phase].color : shadeOf(node.name, true);
  }

  // Where there is no room for the path to a function its own name says more than how the path begins.
  private label(name: string, room: number): string {
    const whole = this.pane.fit(name, room);
    return whole === name || whole === "" ? whole : this.pane.fit(lastName(name), room);
  }

  private focusDepth(): number {
    return this.state.view.root.split(".").filter(Boolean).length;
  }

  private at(event: MouseEvent): Box | null {
    const box = this.pane.canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) / this.pane.width;
    const depth = Math.floor((event.clientY - box.top + this.scroller.scrollTop) / ROW);
    return this.byDepth[depth]?.find((b) => b.x <= x && x < b.x + Math.max(b.w, 1 / this.pane.width)) ?? null;
  }

  private hover(event: MouseEvent): void {
    const box = this.at(event);
    if (box) this.describe(box.node, event.clientX, event.clientY);
    else hideTip();
  }

  private describe(node: FlameNode, x: number, y: number): void {
    const whole = this.tree!.total;
    const { source } = this;
    const lines: [string, string][] = [[source?.of === "events" ? "time" : "CPU", `${this.amount(node.total)}, ${percent(node.total / whole)} of ${source ? "all" : "the selection"}`]];
    if (this.state.view.flame !== "up") lines.push(["of its own", `${this.amount(node.self)}, ${percent(node.self / whole)}`]);
    if (node.counts !== undefined) lines.push([source?.of === "events" ? "calls" : "samples", count(node.counts)]);
    if (node.phase >= 0 && this.model.hasPhases) lines.push(["mostly", `${this.model.phases[node.phase].segment} › ${this.model.phases[node.phase].name}`]);
    showTip(visible(node.name), lines, x, y, node.parent ? css(this.colorOf(node)) : undefined);
  }

  private amount(n: number): string {
    return this.source?.isTime === false ? count(n) : duration(n);
  }

  private onKey(key: string): boolean {
    const now = this.cursor ?? this.focus;
    const siblings = now.parent?.children() ?? [now];
    const at = siblings.indexOf(now);
    let next: FlameNode | null | undefined;
    if (key === "ArrowUp") next = now.parent;
    else if (key === "ArrowDown") next = this.cursor ? now.children()[0] : now;
    else if (key === "ArrowLeft") next = siblings[at - 1];
    else if (key === "ArrowRight") next = siblings[at + 1];
    else if (key === "Enter") {
      this.zoom(now);
      return true;
    } else if (key === "Escape") {
      if (this.state.view.root === "") return false;
      this.state.set({ root: "" });
      return true;
    } else return false;
    if (next) this.moveTo(next);
    return true;
  }

  private moveTo(node: FlameNode): void {
    const box = this.boxes.find((b) => b.node === node);
    if (!box) return;
    this.cursor = node;
    const top = box.depth * ROW;
    if (top < this.scroller.scrollTop || top + ROW > this.scroller.scrollTop + this.pane.height) this.scroller.scrollTo({ top: top - this.pane.height / 2 });
    this.pane.invalidate();
    const at = this.pane.canvas.getBoundingClientRect();
    this.describe(node, at.left + box.x * this.pane.width, at.top + top - this.scroller.scrollTop + ROW);
  }

  // Time of all stacks with a match in them, each counted once.
  private matched(node: FlameNode): number {
    if (this.found(node.name)) return node.total;
    return node.children().reduce((all, child) => all + this.matched(child), 0);
  }

  private say(): void {
    const { view } = this.state;
    const tree = this.tree!;
    const { source } = this;
    const ofWhat = source?.of === "events" ? (source.isTime ? "by the clock, without pauses" : "in calls") : "of CPU time";
    const parts = [`${source ? "The whole run" : visible(describeSelection(this.model, view))}${view.phase && !source ? `, ${view.phase}` : ""}: ${this.amount(tree.total)} ${ofWhat}.`];
    const range = source ? null : this.stacks.range(view);
    if (range) parts.push(`Stacks are kept by stretches of ${duration(this.stacks.slot)}: these are of ${range[0].toFixed(2)} s to ${range[1].toFixed(2)} s.`);
    const within = source ? "" : [view.range && !range ? "stretch of time" : "", view.thread >= 0 && this.stacks.by === "process" ? "thread" : ""].filter(Boolean).join(" and ");
    if (within) parts.push(`The phases are those of the ${within}; which functions a phase was in is known of the process as a whole.`);
    if (view.frames !== "") parts.push(`“${visible(view.frames)}” is in ${percent(tree.total > 0 ? this.matched(tree) / tree.total : 0)} of it.`);
    this.said.textContent = parts.join(" ");
    this.out.disabled = view.root === "";
    const rule = this.model.data.header.stacks?.["rule"];
    const hues = source?.of === "samples" ? "Blue is what the program recorded, orange what was sampled below it. " : "";
    const left = source && source.nodesLeft > 0 ? `${plural(source.nodesLeft, "branch is", "branches are")} too small for this page, and missing.` : "";
    this.note.textContent = source ? hues + left : typeof rule === "string" ? rule : "";
    this.table.hidden = source !== null; // the list of functions has more
    const row = this.focus.parent ? this.rowOf(this.focus) : -1;
    this.around.disabled = row < 0;
    this.around.title = row < 0 ? "Zoom into a function first" : `Who calls ${visible(this.calls.name(row))}, and whom it calls`;
  }

  private asTable(): HTMLElement {
    const own = new Map<string, { self: number; total: number }>();
    const walk = (node: FlameNode, open: Set<string>): void => {
      const entry = own.get(node.name) ?? { self: 0, total: 0 };
      entry.self += node.self;
      if (!open.has(node.name)) entry.total += node.total;
      own.set(node.name, entry);
      const inner = new Set(open).add(node.name);
      for (const child of node.children()) walk(child, inner);
    };
    if (this.source) return el("p");
    const tree = this.stacks.tree({ ...this.state.view, flame: "down" });
    for (const child of tree.children()) walk(child, new Set());
    const rows = [...own].sort((a, b) => b[1].self - a[1].self).slice(0, 100);
    return plainTable(null, [cell("function"), figure("of its own, s"), figure("share"), figure("with callees, s")],
      rows.map(([name, n]) => [cell(visible(name)), figure(seconds(n.self, 3)), figure(percent(n.self / tree.total)), figure(seconds(n.total, 3))]));
  }
}

// "b" of "a::b" and of "<x::y as z>::b"; what follows the last colons that stand outside of brackets.
export function lastName(name: string): string {
  let depth = 0;
  for (let i = name.length - 1; i > 0; i--) {
    const c = name[i];
    if (c === ">" || c === ")" || c === "}" || c === "]") depth++;
    else if (c === "<" || c === "(" || c === "{" || c === "[") depth--;
    else if (c === ":" && depth === 0 && name[i - 1] === ":" && !/^\{/.test(name.slice(i + 1))) return name.slice(i + 1);
  }
  return name;
}
