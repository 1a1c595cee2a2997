// Callers and callees: a list of functions, and what is around the one that was chosen.
import type { Calls, Neighbour, Rest, Source } from "./call_data";
import { button, choice, el } from "./dom";
import { count, digits, duration, percent, plural, visible } from "./format";
import type { State } from "./state";

const FIRST = 60; // functions that are there at once
const AROUND = 30; // and callers, and callees

type Column = "name" | "self" | "time" | "counts";

// Where else a function shows.
export interface Places {
  id: string;
  title: string;
  of?: Source["of"]; // of such alone
  show(name: string): void;
}

export class Callers {
  readonly root = el("div", { class: "callers" });
  readonly search = el("input", { type: "search", placeholder: "find a function  /", "aria-label": "Find a function" });
  private readonly which: ReturnType<typeof choice>;
  private readonly said = el("p", { class: "scope", "aria-live": "polite" });
  private readonly list = el("div", { class: "call-list", tabindex: "0", role: "region", "aria-label": "Functions" });
  private readonly around = el("div", { class: "call-around", role: "region", "aria-labelledby": "around-title" });
  private sort: Column = "self";
  private down = true;
  private all = false; // functions
  private wide = false; // callers and callees
  private shown = ""; // what the list was made of
  private walked = false; // by a key or click around the function: the focus goes along

  constructor(
    private readonly calls: Calls,
    private readonly state: State,
    private readonly places: Places[],
  ) {
    const { sources } = calls;
    this.which = choice("What was measured", [["events", "calls, by the clock"], ["samples", "samples, CPU time"]], () => this.source.of, (of) => state.set({ of, fn: this.counterpart(of), root: "" }));
    this.which.hidden = sources.length < 2;
    this.search.addEventListener("input", () => state.set({ fns: this.search.value }));
    this.search.addEventListener("keydown", (event) => {
      const first = this.list.querySelector<HTMLButtonElement>("button.fn");
      if (event.key === "Enter") first?.click();
      else if (event.key === "ArrowDown") first?.focus();
      else return;
      event.preventDefault();
    });
    this.root.append(el("div", { class: "tools" }, this.search, this.which), this.said, el("div", { class: "sandwich" }, this.list, this.around));
    this.root.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && event.target !== this.search && this.onKey(event.key)) event.preventDefault();
    });
  }

  get source(): Source {
    const { fn, of } = this.state.view;
    const { sources } = this.calls;
    return this.calls.sourceOf(fn) ?? sources.find((s) => s.of === of) ?? sources[0];
  }

  // The function that was chosen, else of those that are found the one with most time of its own.
  get row(): number {
    const { fn } = this.state.view;
    if (this.calls.sourceOf(fn)) return fn;
    const rows = this.rows();
    return rows.length > 0 ? rows.reduce((best, row) => (this.calls.self[row] > this.calls.self[best] ? row : best)) : this.source.first;
  }

  private counterpart(of: Source["of"]): number {
    return this.calls.find(this.calls.name(this.row), this.calls.sources.find((s) => s.of === of));
  }

  choose(row: number): void {
    this.wide = false;
    this.state.set({ fn: row });
  }

  amount(n: number): string {
    return this.source.isTime ? duration(n) : Number.isInteger(n) ? count(n) : digits(n, 0);
  }

  refresh(): void {
    const { view } = this.state;
    if (this.search.value !== view.fns) this.search.value = view.fns;
    this.which.refresh();
    const key = JSON.stringify([this.source.of, view.fns, this.sort, this.down, this.all]);
    if (key !== this.shown) this.fillList();
    this.shown = key;
    this.mark();
    this.fillAround();
  }

  // ---- the list

  private rows(): number[] {
    const { first, end } = this.source;
    const words = this.state.view.fns.toLowerCase().split(/\s+/).filter(Boolean);
    const { calls } = this;
    const rows: number[] = [];
    for (let row = first; row < end; row++) {
      const text = `${calls.name(row)} ${calls.module(row)}`.toLowerCase();
      if (words.every((word) => text.includes(word))) rows.push(row);
    }
    const sign = this.down ? -1 : 1;
    if (this.sort === "name") return rows.sort((a, b) => sign * calls.name(a).localeCompare(calls.name(b)) || a - b);
    const figures = this.sort === "counts" ? (this.source.of === "samples" ? calls.selfCounts : calls.counts) : calls[this.sort];
    return rows.sort((a, b) => sign * (figures[a] - figures[b]) || a - b);
  }

  private fillList(): void {
    const rows = this.rows();
    const shown = this.all ? rows : rows.slice(0, FIRST);
    const { calls, source } = this;
    const isSampled = source.of === "samples";
    const heads: [Column, string][] = [["name", "function"], ["self", "self"], ["time", "total"], ["counts", isSampled ? "samples" : "calls"]];
    const head = el("tr");
    for (const [column, title] of heads) {
      const th = el("th", { scope: "col", ...(column === "name" ? {} : { class: "number" }) }, button(title, () => this.sortBy(column)));
      if (this.sort === column) th.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      head.append(th);
      if (column === "self") head.append(el("th", { scope: "col", class: "number" }, "share"));
    }
    const body = el("tbody");
    for (const row of shown)
      body.append(el("tr", { "data-row": String(row) }, el("th", { scope: "row" }, this.link(row)), this.figure(this.amount(calls.self[row])), this.figure(percent(calls.self[row] / source.whole)),
        this.figure(this.amount(calls.time[row])), this.figure(count(isSampled ? calls.selfCounts[row] : calls.counts[row]))));
    this.list.replaceChildren(el("table", {}, el("thead", {}, head), body));
    if (shown.length < rows.length) this.list.append(button(`Show all ${count(rows.length)}`, () => { this.all = true; this.refresh(); }, { class: "more" }));
    const left = source.left > 0 ? ` ${plural(source.left, "function")} with less time are not in this page: lamella report --around has them.` : "";
    const found = this.state.view.fns.trim() === "" ? plural(rows.length, "function") : `${count(rows.length)} of ${plural(source.end - source.first, "function")}`;
    this.said.textContent = `The whole run: ${found}, by ${isSampled ? "CPU time in samples" : "the clock, without pauses"}.${left} Choose one to see who calls it and whom it calls; the browser's way back leads back.`;
  }

  private sortBy(column: Column): void {
    this.down = this.sort === column ? !this.down : column !== "name";
    this.sort = column;
    this.refresh();
  }

  private mark(): void {
    const { row } = this;
    for (const tr of this.list.querySelectorAll("tbody tr")) {
      if (tr.getAttribute("data-row") === String(row)) tr.setAttribute("aria-current", "true");
      else tr.removeAttribute("aria-current");
    }
  }

  private figure(text: string): HTMLElement {
    return el("td", { class: "number" }, text);
  }

  private link(row: number): HTMLElement {
    const { calls } = this;
    if (row < 0) return el("span", { class: "nobody" }, calls.name(row));
    const { name, place } = calls.parts(row);
    const made = button(visible(name), () => {
      this.walked = this.around.contains(document.activeElement);
      this.choose(row);
    }, { class: "link fn", title: visible(calls.name(row)) });
    if (place) made.append(el("span", { class: "of" }, ` ${visible(place)}`));
    return made;
  }

  // ---- around one

  private facts(row: number): string {
    const { calls, source } = this;
    const isSampled = source.of === "samples";
    const inner = calls.ofItself[row] > 0 ? ` (${count(calls.ofItself[row])} of them by itself)` : "";
    const parts = [`${plural(calls.counts[row], isSampled ? "sample" : "call")}${inner}`, `total ${this.amount(calls.time[row])} (${percent(calls.time[row] / source.whole)} of all)`,
      `self ${this.amount(calls.self[row])} (${percent(calls.self[row] / source.whole)})`];
    if (calls.module(row)) parts.push(`in ${visible(calls.module(row))}`);
    if (calls.file(row)) parts.push(visible(calls.file(row)));
    return parts.join(", ");
  }

  private fillAround(): void {
    const { calls, row } = this;
    const isSampled = this.source.of === "samples";
    const title = el("h3", { id: "around-title", tabindex: "-1" }, visible(calls.name(row)));
    const tools = el("p", { class: "links" }, ...this.places.filter((p) => document.getElementById(p.id) && (!p.of || p.of === this.source.of)).map((p) => button(p.title, () => p.show(calls.name(row)), { class: "link" })));
    const table = el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "function"), el("th", { scope: "col", class: "number" }, isSampled ? "CPU" : "time"),
      el("th", { scope: "col", class: "number" }, "share"), el("th", { scope: "col", class: "number" }, isSampled ? "samples" : "calls"))));
    const [callers, callees] = [calls.callers(row), calls.callees(row)];
    table.append(this.group("Called by", callers.list, callers.rest, "caller"), this.itself(row), this.group("Calls", callees.list, callees.rest, "callee"));
    this.around.replaceChildren(title, el("p", { class: "scope" }, this.facts(row)), tools, table,
      el("p", { class: "note" }, "Shares are of its total: callers add up to it, and itself with whom it calls. Of calls inside of one another the outermost counts."));
    if (this.walked) title.focus({ preventScroll: true });
    this.walked = false;
  }

  private line(name: HTMLElement, time: number, counts: number | null): HTMLElement {
    const share = this.calls.time[this.row] > 0 ? time / this.calls.time[this.row] : 0;
    const bar = el("span", { class: "cellbar" });
    bar.style.width = `${100 * Math.min(1, share)}%`;
    const shown = this.figure(percent(share));
    shown.append(bar);
    return el("tr", {}, el("th", { scope: "row" }, name), this.figure(this.amount(time)), shown, this.figure(counts === null || Number.isNaN(counts) ? "" : count(counts)));
  }

  private group(title: string, list: Neighbour[], rest: Rest | null, role: string): HTMLElement {
    const body = el("tbody", { "data-role": role }, el("tr", {}, el("th", { scope: "rowgroup", colspan: "4", class: "group" }, title)));
    const shown = this.wide ? list : list.slice(0, AROUND);
    for (const { row, time, counts } of shown) body.append(this.line(this.link(row), time, counts));
    if (shown.length < list.length) body.append(el("tr", {}, el("td", { colspan: "4" }, button(`Show ${count(list.length - shown.length)} more`, () => { this.wide = true; this.fillAround(); }))));
    if (rest) body.append(this.line(el("span", { class: "nobody" }, `${count(rest.functions)} more, not in this page`), rest.time, rest.counts));
    if (list.length === 0 && !rest) body.append(el("tr", {}, el("td", { colspan: "4", class: "nobody" }, role === "caller" ? "nobody" : "nothing that was recorded")));
    return body;
  }

  private itself(row: number): HTMLElement {
    const { calls } = this;
    const made = el("tbody", { "data-role": "itself" }, this.line(el("span", {}, "Itself"), calls.self[row], this.source.of === "samples" ? calls.selfCounts[row] : null));
    return made;
  }

  // Up and down from name to name; left to the largest caller, right to the largest callee of the function that is shown.
  private onKey(key: string): boolean {
    const at = document.activeElement;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      if (!this.around.contains(at)) return false;
      const side = key === "ArrowLeft" ? this.calls.callers(this.row) : this.calls.callees(this.row);
      const next = side.list.find((n) => n.row >= 0);
      if (!next) return true;
      this.walked = true;
      this.choose(next.row);
      return true;
    }
    if (key !== "ArrowUp" && key !== "ArrowDown") return false;
    const names = [...(this.list.contains(at) ? this.list : this.around).querySelectorAll<HTMLButtonElement>("button.fn")];
    const now = names.indexOf(at as HTMLButtonElement);
    if (now < 0 && at === this.list) return false; // it scrolls
    names[Math.max(0, Math.min(names.length - 1, now + (key === "ArrowDown" ? 1 : -1)))]?.focus();
    return names.length > 0;
  }
}
