// The table of units: sort, filter, select, copy.
import { button, choice, el } from "./dom";
import { count, plural } from "./format";
import { toggled } from "./inside";
import type { Model } from "./model";
import type { State } from "./state";
import { asCsv, asMarkdown, unitColumns, type Column } from "./units_columns";

const FIRST = 100; // rows that are there at once

export class Units {
  readonly root = el("div", { class: "units" });
  readonly filter = el("input", { type: "search", placeholder: "filter: name, kind, wall>2, cpu<0.5", "aria-label": "Filter units" });
  private readonly columns: Column[];
  private readonly holder = el("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table of units" });
  private readonly said = el("p", { class: "scope", "aria-live": "polite" });
  private readonly which: ReturnType<typeof choice>;
  private all = false;

  constructor(
    private readonly model: Model,
    private readonly state: State,
  ) {
    this.columns = unitColumns(model);
    this.filter.value = state.view.filter;
    this.filter.addEventListener("input", () => state.set({ filter: this.filter.value }));
    this.which = choice("Columns", [["main", "main columns"], ["all", "all columns"]], () => state.view.columns, (columns) => state.set({ columns }));
    this.root.append(
      el("div", { class: "tools" }, this.filter, this.which, button("Copy as Markdown", () => this.copy(asMarkdown)), button("Copy as CSV", () => this.copy(asCsv))),
      this.said, this.holder,
    );
  }

  // Rows that pass the filter, sorted.
  rows(): number[] {
    const table = this.model.unitTable;
    const pass = filterOf(this.state.view.filter, this.columns);
    const rows = Array.from({ length: table.rows }, (_, row) => row).filter(pass);
    const key = this.state.view.sort.replace(/^-/, "");
    const down = this.state.view.sort.startsWith("-") ? -1 : 1;
    const column = this.columns.find((c) => c.key === key);
    if (!column) return rows;
    const values = new Map(rows.map((row) => [row, column.value(row)]));
    return rows.sort((a, b) => {
      const [x, y] = [values.get(a) ?? null, values.get(b) ?? null];
      if (x === null || y === null) return (x === null ? 1 : 0) - (y === null ? 1 : 0) || a - b; // not known: last either way
      return down * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y))) || a - b;
    });
  }

  refresh(): void {
    const { view } = this.state;
    if (this.filter.value !== view.filter) this.filter.value = view.filter;
    this.which.refresh();
    const rows = this.rows();
    const columns = this.shownColumns();
    const shown = this.all ? rows : rows.slice(0, FIRST);
    const selected = new Set(view.units);
    const most = new Map(columns.filter((c) => c.bar).map((c) => [c.key, rows.reduce((a, row) => Math.max(a, Number(c.value(row) ?? 0)), 0)]));
    const body = el("tbody", {}, ...shown.map((row) => this.row(row, columns, most, selected.has(row))));
    const table = el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "pick" }, el("span", { class: "sr" }, "selected")), ...columns.map((c) => this.head(c)))), body);
    table.setAttribute("aria-rowcount", String(rows.length + 1));
    const { scrollLeft } = this.holder;
    this.holder.replaceChildren(table);
    this.holder.scrollLeft = scrollLeft;
    if (shown.length < rows.length) this.holder.append(button(`Show all ${count(rows.length)}`, () => { this.all = true; this.refresh(); }, { class: "more" }));
    const of = rows.length === this.model.unitTable.rows ? "" : ` of ${count(this.model.unitTable.rows)}`;
    this.said.textContent = `${plural(rows.length, "unit")}${of}${selected.size ? `, ${count(selected.size)} selected` : ""}. Click a row to select it; Ctrl or Shift adds. Copies hold what is selected, or all that pass the filter.`;
  }

  private shownColumns(): Column[] {
    const known = (c: Column): boolean => c.key === "top" || c.key === "unit" || this.model.unitTable.numbers(c.key).some((n) => !Number.isNaN(n));
    return this.columns.filter((c) => (this.state.view.columns === "all" || c.main) && known(c));
  }

  private head(column: Column): HTMLElement {
    const { sort } = this.state.view;
    const sorted = sort.replace(/^-/, "") === column.key;
    const act = (): void => this.state.set({ sort: sort === `-${column.key}` ? column.key : sort === column.key || column.number ? `-${column.key}` : column.key });
    const made = el("th", { scope: "col", class: column.number ? "number" : "", title: column.meaning }, button(column.title, act));
    if (sorted) made.setAttribute("aria-sort", sort.startsWith("-") ? "descending" : "ascending");
    return made;
  }

  private row(row: number, columns: Column[], most: Map<string, number>, selected: boolean): HTMLElement {
    const { state } = this;
    const box = el("input", { type: "checkbox", "aria-label": "select" });
    box.checked = selected;
    box.addEventListener("click", (event) => {
      event.stopPropagation();
      state.set({ units: toggled(state.view.units, row, true) });
    });
    const made = el("tr", { "data-row": String(row), ...(selected ? { "aria-selected": "true" } : {}) }, el("td", { class: "pick" }, box));
    for (const column of columns) {
      const first = column.key === "unit";
      const made1 = el(first ? "th" : "td", { class: column.number ? "number" : column.key === "top" ? "wide" : "", ...(first ? { scope: "row" } : {}) }, column.shown(row));
      const top = most.get(column.key);
      const value = column.value(row);
      if (top && typeof value === "number") {
        const bar = el("span", { class: "cellbar" });
        bar.style.width = `${(100 * value) / top}%`;
        made1.append(bar);
      }
      made.append(made1);
    }
    made.addEventListener("click", (event) => state.set({ units: toggled(state.view.units, row, event.ctrlKey || event.metaKey || event.shiftKey) }));
    return made;
  }

  private copy(write: (columns: Column[], rows: number[]) => string): void {
    const picked = new Set(this.state.view.units);
    const rows = this.rows();
    void copyText(write(this.shownColumns(), picked.size ? rows.filter((row) => picked.has(row)) : rows)).then((done) => {
      this.said.textContent = done ? `Copied ${plural(picked.size || rows.length, "unit")}.` : "The browser did not allow to copy.";
    });
  }
}

// Words must all be in the name, package or kind; wall>2 compares a figure.
export function filterOf(text: string, columns: Column[]): (row: number) => boolean {
  const tests = text.trim().split(/\s+/).filter(Boolean).map((word): ((row: number) => boolean) => {
    const match = /^([a-z_]+)([<>])([\d.]+)$/i.exec(word);
    const column = match && columns.find((c) => c.number && (c.key === match[1] || c.key.startsWith(`${match[1]}_`)));
    if (column) {
      const bound = Number(match[3]);
      return (row) => {
        const value = column.value(row);
        return typeof value === "number" && (match[2] === "<" ? value < bound : value > bound);
      };
    }
    const wanted = word.toLowerCase();
    const texts = columns.filter((c) => ["unit", "kind", "package", "crate", "mode"].includes(c.key));
    return (row) => texts.some((c) => String(c.value(row) ?? "").toLowerCase().includes(wanted));
  });
  return (row) => tests.every((test) => test(row));
}

// Pages from disk have no clipboard in some browsers: a selected text field has been good for that since long before.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = el("textarea", { class: "sr" });
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}
