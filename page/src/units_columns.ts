// Columns of the table of units, and its rows as Markdown and CSV.
import { bytes, count, digits, percent, seconds, visible } from "./format";
import type { Json } from "./decode";
import type { Model } from "./model";

export interface Column {
  key: string;
  title: string;
  number: boolean;
  bar: boolean;
  main: boolean;
  meaning: string;
  value(row: number): Json;
  shown(row: number): string;
}

const MAIN = new Set(["unit", "kind", "start_s", "wall_s", "cpu_s", "run_s", "core_wait_s", "blocked_s", "max_rss_bytes", "rmeta_s", "unblocked", "slack_s", "share_s", "reason", "top"]);
const BARS = new Set(["wall_s", "cpu_s", "run_s", "core_wait_s", "blocked_s", "max_rss_bytes"]);
const HIDDEN = new Set(["process", "inside_pid", "unblocked_by_pid"]);

const TITLES: Record<string, string> = {
  start_s: "start s", wall_s: "wall s", cpu_s: "CPU s", run_s: "running s", core_wait_s: "for a core s", blocked_s: "blocked s", max_rss_bytes: "peak memory",
  rmeta_s: "metadata s", slack_s: "slack s", share_s: "of the wall s",
};

function formatter(key: string, unit: string | undefined): (value: Json) => string {
  if (unit === "bytes" || key.endsWith("_bytes")) return (v) => bytes(v as number | null);
  if (key.endsWith("_s")) return (v) => seconds(v as number | null, 3);
  if (unit === "0 to 1") return (v) => percent(v as number | null);
  return (v) => (v === null ? "–" : typeof v === "boolean" ? (v ? "yes" : "no") : typeof v === "number" ? (Number.isInteger(v) ? count(v) : digits(v, 3)) : visible(String(v)));
}

export function unitColumns(model: Model): Column[] {
  const table = model.unitTable;
  const meanings = model.data.header.meanings?.["units"] ?? {};
  const columns = table.columns.filter((key) => !HIDDEN.has(key)).map((key): Column => {
    const type = table.type(key);
    const number = type === "int" || type === "real";
    const format = formatter(key, meanings[key]?.unit);
    return {
      key, title: TITLES[key] ?? key.replace(/_/g, " ").replace(/ s$/, " s"), number, bar: BARS.has(key), main: MAIN.has(key), meaning: meanings[key]?.meaning ?? "",
      value: (row) => table.value(key, row), shown: (row) => format(table.value(key, row)),
    };
  });
  columns.push(topPhases(model));
  return columns;
}

// The two phases that took most.
function topPhases(model: Model): Column {
  const cells = model.table("units.phases");
  const byUnit = cells.byParent();
  const cpu = cells.numbers("cpu_s");
  const cache = new Map<number, string>();
  const make = (row: number): string => {
    if (model.unitTable.text("capture", row) === "cached") return "had by a cache, not compiled";
    const sums = new Map<string, number>();
    let all = 0;
    for (const cellRow of byUnit.get(row) ?? []) {
      const name = cells.text("phase", cellRow) ?? "";
      sums.set(name, (sums.get(name) ?? 0) + (cpu[cellRow] || 0));
      all += cpu[cellRow] || 0;
    }
    const top = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 2);
    return top.map(([name, n]) => `${name} ${percent(n / all, 0)}`).join(", ");
  };
  const text = (row: number): string => {
    let found = cache.get(row);
    if (found === undefined) cache.set(row, (found = make(row)));
    return found;
  };
  return { key: "top", title: "most in", number: false, bar: false, main: true, meaning: "the phases with most CPU time", value: text, shown: text };
}

const csvField = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

// A cell that begins like a formula would be run as one by what opens the file.
const harmless = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

export function asCsv(columns: Column[], rows: number[]): string {
  const field = (value: Json): string => (value === null ? "" : typeof value === "number" ? String(value) : csvField(harmless(String(value))));
  return [columns.map((c) => csvField(c.key)).join(","), ...rows.map((row) => columns.map((c) => field(c.value(row))).join(","))].join("\n") + "\n";
}

export function asMarkdown(columns: Column[], rows: number[]): string {
  const field = (text: string): string => text.replace(/[\\|`*_<>[\]]/g, (c) => `\\${c}`).replace(/\s+/g, " ");
  const line = (cells: string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(columns.map((c) => c.title)), line(columns.map((c) => (c.number ? "---:" : "---"))),
    ...rows.map((row) => line(columns.map((c) => field(c.shown(row))))),
  ].join("\n") + "\n";
}
