// Elements. Text goes in as text, never as markup: names in a recording are whatever somebody called something.

type Child = Node | string | null | undefined;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of children) if (child !== null && child !== undefined) made.append(child);
  return made;
}

export function button(label: string, action: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = el("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", action);
  return made;
}

// A group of buttons of which one is pressed.
export function choice<T extends string>(label: string, options: [T, string][], get: () => T, set: (value: T) => void): HTMLElement & { refresh(): void } {
  const group = el("div", { class: "choice", role: "group", "aria-label": label });
  const buttons = options.map(([value, text]) => {
    const made = button(text, () => set(value), { "data-value": value });
    group.append(made);
    return made;
  });
  const refresh = (): void => {
    for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset["value"] === get()));
  };
  refresh();
  return Object.assign(group, { refresh });
}

export interface Cell {
  text: string;
  number?: boolean;
  title?: string;
}

export const cell = (text: string): Cell => ({ text });
export const figure = (text: string): Cell => ({ text, number: true });

export function plainTable(caption: string | null, heads: Cell[], rows: Cell[][]): HTMLTableElement {
  const row = (cells: Cell[], tag: "th" | "td"): HTMLTableRowElement => {
    const made = el("tr");
    cells.forEach((c, i) => {
      const head = tag === "td" && i === 0;
      const box = el(head ? "th" : tag, c.number ? { class: "number" } : {}, c.text);
      if (tag === "th") box.setAttribute("scope", "col");
      else if (head) box.setAttribute("scope", "row");
      if (c.title) box.title = c.title;
      made.append(box);
    });
    return made;
  };
  const table = el("table", {}, el("thead", {}, row(heads, "th")), el("tbody", {}, ...rows.map((r) => row(r, "td"))));
  if (caption) table.prepend(el("caption", {}, caption));
  return table;
}

// A table that is made when it is opened: what a chart shows, for those who cannot see it.
export function foldedTable(summary: string, make: () => Node): HTMLDetailsElement {
  const box = el("details", { class: "astable" }, el("summary", {}, summary));
  const fill = (): void => {
    box.querySelector(".holds")?.remove();
    if (box.open) box.append(el("div", { class: "holds scroll-x", tabindex: "0", role: "region", "aria-label": summary }, make()));
  };
  box.addEventListener("toggle", fill);
  box.addEventListener("refresh", fill);
  return box;
}

// What a chart says of itself while it moves: some times a second, for it moves the page's layout, and a frame has better to do.
export function soon<A extends unknown[]>(ms: number, act: (...last: A) => void): (...args: A) => void {
  let last: A | null = null;
  return (...args) => {
    if (!last) setTimeout(() => {
      const said = last!;
      last = null;
      act(...said);
    }, ms);
    last = args;
  };
}

export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || target.isContentEditable);
