// Light and dark: the browser's wish, or what the button says. Canvases read their inks from the style sheet.
import type { Rgb } from "./color";

export interface Inks {
  text: string;
  muted: string;
  grid: string;
  back: Rgb;
  row: Rgb; // where a thread lives without a span
  area: string; // of charts that are not about segments
  pale: string;
  mark: string; // critical path, selection
  font: string;
  dark: boolean;
}

const listeners: (() => void)[] = [];
let current: Inks | null = null;

function rgb(text: string): Rgb {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text.trim());
  const at = (i: number): number => parseInt(match?.[i] ?? "80", 16);
  return { r: at(1), g: at(2), b: at(3) };
}

export function inks(): Inks {
  if (!current) {
    const style = getComputedStyle(document.documentElement);
    const of = (name: string): string => style.getPropertyValue(name).trim();
    current = {
      text: of("--ink"), muted: of("--muted"), grid: of("--grid"), back: rgb(of("--back")), row: rgb(of("--row")), mark: of("--mark"),
      area: of("--area"), pale: of("--pale"),
      font: style.fontFamily || "sans-serif", dark: of("--is-dark") === "1",
    };
  }
  return current;
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

function changed(): void {
  current = null;
  for (const listener of listeners) listener();
}

// A page from disk may have no storage: then the choice lasts as long as the page.
function remembered(): string | null {
  try {
    return localStorage.getItem("lamella-theme");
  } catch {
    return null;
  }
}

function remember(theme: string): void {
  try {
    localStorage.setItem("lamella-theme", theme);
  } catch {
    // See remembered().
  }
}

export function startTheme(): void {
  const wish = remembered();
  if (wish === "dark" || wish === "light") document.documentElement.dataset["theme"] = wish;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  // Paper is white whatever the screen was.
  addEventListener("beforeprint", () => {
    document.documentElement.dataset["paper"] = "1";
    changed();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset["paper"];
    changed();
  });
}

export function toggleTheme(): void {
  const theme = inks().dark ? "light" : "dark";
  document.documentElement.dataset["theme"] = theme;
  remember(theme);
  changed();
}
