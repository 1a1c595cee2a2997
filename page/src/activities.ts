// Activities of instrumented programs and self-profiles: their sums, and the events over time.
import { cell, el, figure, plainTable, button, type Cell } from "./dom";
import { count, digits, duration, percent, plural, visible } from "./format";
import type { Keys } from "./keys";
import { Events } from "./events";
import type { Model } from "./model";

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

export class Activities {
  readonly root = el("div", { class: "activities" });
  private readonly filter = el("input", { type: "search", placeholder: "filter activities", "aria-label": "Filter activities" });
  private readonly holder = el("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table of activities" });
  private readonly said = el("p", { class: "scope", "aria-live": "polite" });
  private sort = "-self";
  private all = false;
  readonly events: Events | null;

  constructor(
    private readonly model: Model,
    keys: Keys,
  ) {
    this.filter.addEventListener("input", () => this.refresh());
    this.events = model.data.has("events") ? new Events(model) : null;
    if (this.events) {
      this.root.append(this.events.said, this.events.scroller);
      keys.watch(this.events.pane.canvas, () => this.events!.axis());
    }
    if (model.data.has("activities")) this.root.append(el("div", { class: "tools" }, this.filter), this.said, this.holder);
  }

  // The unit of the figures is time, or a counter that was measured instead.
  private key(column: Column): string {
    if (column.kind !== "time") return column.key;
    const table = this.model.table("activities");
    const units = `${column.key}_units`;
    return table.has(units) && table.numbers(units).some((n) => !Number.isNaN(n)) ? units : `${column.key}_s`;
  }

  // Sums over all units where the table has them, else of each unit.
  private rows(): number[] {
    const table = this.model.table("activities");
    const all = Array.from({ length: table.rows }, (_, row) => row);
    const whole = all.filter((row) => table.text("unit", row) === null);
    const wanted = this.filter.value.trim().toLowerCase();
    const rows = (whole.length ? whole : all).filter((row) => wanted === "" || `${table.text("label", row)} ${table.text("kind", row)}`.toLowerCase().includes(wanted));
    const column = COLUMNS.find((c) => c.key === this.sort.replace(/^-/, "")) ?? COLUMNS[2];
    const down = this.sort.startsWith("-") ? -1 : 1;
    const key = this.key(column);
    if (column.kind === "text") return rows.sort((a, b) => down * String(table.text(key, a)).localeCompare(String(table.text(key, b))) || a - b);
    const values = table.numbers(key);
    return rows.sort((a, b) => down * ((values[a] || 0) - (values[b] || 0)) || a - b);
  }

  refresh(): void {
    this.events?.refresh();
    if (!this.model.data.has("activities")) return;
    const table = this.model.table("activities");
    const rows = this.rows();
    const columns = COLUMNS.filter((c) => table.has(this.key(c)) && (c.kind === "text" || table.numbers(this.key(c)).some((n) => n > 0)));
    const heads = columns.map((c): Cell => (c.kind === "text" ? cell(c.title) : figure(c.title)));
    const shown = this.all ? rows : rows.slice(0, FIRST);
    const made = plainTable(null, heads, shown.map((row) => columns.map((c) => this.cell(c, row))));
    made.querySelectorAll("thead th").forEach((th, i) => {
      const { key, kind } = columns[i];
      const act = (): void => {
        this.sort = this.sort === `-${key}` || (kind === "text" && this.sort !== key) ? key : `-${key}`;
        this.refresh();
      };
      th.replaceChildren(button(columns[i].title, act));
      if (this.sort.replace(/^-/, "") === key) th.setAttribute("aria-sort", this.sort.startsWith("-") ? "descending" : "ascending");
    });
    this.holder.replaceChildren(made);
    if (shown.length < rows.length) this.holder.append(button(`Show all ${count(rows.length)}`, () => { this.all = true; this.refresh(); }, { class: "more" }));
    this.said.textContent = `${plural(rows.length, "activity", "activities")}. Self is time without the activities inside; active is without pauses.`;
  }

  private cell(column: Column, row: number): Cell {
    const table = this.model.table("activities");
    const key = this.key(column);
    if (column.kind === "text") return cell(visible(table.text(key, row) ?? ""));
    const n = table.number(key, row);
    if (column.kind === "share") return figure(percent(n));
    if (column.kind === "count" || !key.endsWith("_s")) return figure(n === null ? "–" : Number.isInteger(n) ? count(n) : digits(n, 0));
    return figure(duration(n));
  }
}
