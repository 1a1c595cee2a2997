// What lies under the pointer, or under the keyboard's cursor.
import { el } from "./dom";

export type TipLine = [string, string];

let box: HTMLElement | null = null;

export function showTip(title: string, lines: TipLine[], x: number, y: number, color?: string): void {
  if (!box) {
    box = el("div", { class: "tip", role: "status", "aria-live": "polite" });
    document.body.append(box);
  }
  const list = el("dl");
  for (const [name, value] of lines) list.append(el("dt", {}, name), el("dd", {}, value));
  const head = el("p", { class: "tip-title" }, title);
  if (color) {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = color;
    head.prepend(swatch);
  }
  box.replaceChildren(head, list);
  box.hidden = false;
  const { offsetWidth: w, offsetHeight: h } = box;
  const left = x + 14 + w > innerWidth ? Math.max(4, x - w - 14) : x + 14;
  const top = y + 14 + h > innerHeight ? Math.max(4, y - h - 14) : y + 14;
  box.style.left = `${left}px`;
  box.style.top = `${top}px`;
}

export function hideTip(): void {
  if (box) box.hidden = true;
}
