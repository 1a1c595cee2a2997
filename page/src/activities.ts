// Activities of instrumented programs and self-profiles: their sums, and the events over time.
import { figureOf, sumActivities, type Sum } from "./activity_sums";
import type { TimeAxis } from "./axis";
import type { Calls } from "./call_data";
import { cell, el, figure, foldedTable, plainTable, button, type Cell } from "./dom";
import { count, digits, duration, percent, plural, visible } from "./format";
import type { Keys } from "./keys";
import { Events } from "./events";
import type { Model } from "./model";
import type { State } from "./state";
import { describeSelection } from "./summary";

const FIRST = 60;

interface Column {
  key: string;
  title: string;
  kind: "text" | "time" | "count" | "share";
}

const COLUMNS: Column[] = [
  { key: "label", title: "activity", kind: "text" }, { key: "kind", title: "kind", kind: "text" }, { key: "self", title: "self", kind: "time" },
  { key: "share", title: "share", kind: "share" }, { key: "active", title: "active", kind: "time" }, { key: "time", title: "time", kind: "time" },
  { key: "count", title: "count", kind: "count" }, { key: "cache_hits", title: "cache hits", kind: "count" }, { key: "blocked", title: "blocked", kind: "time" },
  { key: "load", title: "loading", kind: "time" }, { key: "hashing", title: "hashing", kind: "time" }, { key: "p50", title: "half below", kind: "time" },
  { key: "p99", title: "99% below", kind: "time" }, { key: "max", title: "longest", kind: "time" }, { key: "open", title: "never ended", kind: "count" },
];

interface Row extends Sum {
  figures: (number | null)[]; // by column
}

export class Activities {
  readonly root = el("div", { class: "activities" });
  readonly events: Events | null;
  private readonly filter = el("input", { type: "search", placeholder: "search activities", "aria-label": "Search activities" });
  private readonly holder = el("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table of activities" });
  private readonly said = el("p", { class: "scope", "aria-live": "polite" });
  private readonly longest = foldedTable("Table of the longest events", () => this.events!.asTable());
  private readonly keys = new Map<Column, string>(); // of the table
  private sort = "-self";
  private all = false;

  constructor(
    private readonly model: Model,
    private readonly state: State,
    axis: TimeAxis,
    keys: Keys,
    private readonly calls: Calls,
    private readonly choose: (row: number) => void,
  ) {
    this.filter.addEventListener("input", () => state.set({ events: this.filter.value }));
    this.events = model.data.has("events") ? new Events(model, state, axis) : null;
    this.root.append(el("div", { class: "tools" }, this.filter));
    if (this.events) {
      const { legend, said, scroller } = this.events;
      this.root.append(legend, said, scroller, el("p", { class: "note" }, "A line is a depth, a band an event; its shade tells it from its neighbours. Click one to find all that are called the same."), this.longest);
      keys.watch(this.events.pane.canvas, () => this.events!.axis());
    }
    if (model.data.has("activities")) this.root.append(this.said, this.holder);
  }

  // The unit of the figures is time, or a counter that was measured instead.
  private key(column: Column): string {
    let key = this.keys.get(column);
    if (key) return key;
    const table = this.model.table("activities");
    const units = `${column.key}_units`;
    key = column.kind !== "time" ? column.key : table.has(units) && table.numbers(units).some((n) => !Number.isNaN(n)) ? units : `${column.key}_s`;
    this.keys.set(column, key);
    return key;
  }

  // Too many to be in the page, and small.
  private get left(): Record<string, number | null> | null {
    return (this.model.data.header["activities_left"] as Record<string, number | null> | undefined) ?? null;
  }

  private rows(): Row[] {
    const table = this.model.table("activities");
    const self = this.key(COLUMNS[2]);
    const sums = sumActivities(this.model, this.state.view);
    const total = sums.reduce((all, sum) => all + (figureOf(table, self, sum.parts) ?? 0), Number(this.left?.[self] ?? 0));
    const wanted = this.state.view.events.trim().toLowerCase();
    const rows = sums.filter((sum) => wanted === "" || `${sum.label} ${sum.kind}`.toLowerCase().includes(wanted)).map((sum): Row => ({
      ...sum,
      figures: COLUMNS.map((c) => (c.kind === "text" ? null : c.kind === "share" ? (figureOf(table, self, sum.parts) ?? 0) / total : figureOf(table, this.key(c), sum.parts))),
    }));
    const at = Math.max(0, COLUMNS.findIndex((c) => c.key === this.sort.replace(/^-/, "")));
    const down = this.sort.startsWith("-") ? -1 : 1;
    if (COLUMNS[at].kind !== "text") return rows.sort((a, b) => down * ((a.figures[at] ?? 0) - (b.figures[at] ?? 0)));
    const text = (row: Row): string => (COLUMNS[at].key === "kind" ? row.kind : row.label);
    return rows.sort((a, b) => down * text(a).localeCompare(text(b)));
  }

  refresh(): void {
    const { view } = this.state;
    if (this.filter.value !== view.events) this.filter.value = view.events;
    this.events?.refresh();
    this.longest.dispatchEvent(new Event("refresh"));
    if (!this.model.data.has("activities")) return;
    const rows = this.rows();
    const columns = COLUMNS.map((_, i) => i).filter((i) => COLUMNS[i].kind === "text" || rows.some((row) => row.figures[i]));
    const shown = this.all ? rows : rows.slice(0, FIRST);
    const heads = columns.map((i): Cell => (COLUMNS[i].kind === "text" ? cell(COLUMNS[i].title) : figure(COLUMNS[i].title)));
    const made = plainTable(null, heads, shown.map((row) => columns.map((i) => this.cell(i, row))));
    made.querySelectorAll("thead th").forEach((th, i) => {
      const { key, kind, title } = COLUMNS[columns[i]];
      const act = (): void => {
        this.sort = this.sort === `-${key}` || (kind === "text" && this.sort !== key) ? key : `-${key}`;
        this.refresh();
      };
      th.replaceChildren(button(title, act));
      if (this.sort.replace(/^-/, "") === key) th.setAttribute("aria-sort", this.sort.startsWith("-") ? "descending" : "ascending");
    });
    made.querySelectorAll("tbody tr").forEach((tr, i) => this.link(tr, shown[i]));
    this.holder.replaceChildren(made);
    if (shown.length < rows.length) this.holder.append(button(`Show all ${count(rows.length)}`, () => { this.all = true; this.refresh(); }, { class: "more" }));
    this.said.textContent = `${visible(describeSelection(this.model, { ...view, range: null }))}: ${plural(rows.length, "activity", "activities")}. Self is time without the activities inside; active is without pauses.`
      + (this.left ? ` ${plural(Number(this.left["rows"]), "activity", "activities")} with less time of their own are not in this page.` : "")
      + (view.range ? " These sums are of all its time, not of the selected stretch." : "");
  }

  // Its name leads to who calls it.
  private link(tr: Element, { label }: Row): void {
    const row = this.calls.find(label, this.calls.sources.find((source) => source.of === "events"));
    const head = tr.querySelector("th");
    if (row >= 0 && head) head.replaceChildren(button(visible(label), () => this.choose(row), { class: "link", title: "Who calls it, and whom it calls" }));
  }

  private cell(i: number, row: Row): Cell {
    const { kind, key } = COLUMNS[i];
    const n = row.figures[i];
    if (kind === "text") return cell(visible(key === "kind" ? row.kind : row.label));
    if (kind === "share") return figure(percent(n));
    if (kind === "count" || !this.key(COLUMNS[i]).endsWith("_s")) return figure(n === null ? "–" : Number.isInteger(n) ? count(n) : digits(n, 0));
    return figure(duration(n));
  }
}
