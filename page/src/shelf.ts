// The shelf of questions: one is open at a time, its answer below.
import { button, el, plainTable } from "./dom";
import type { Model } from "./model";
import { QUESTIONS } from "./questions";
import type { State } from "./state";

export class Shelf {
  readonly root = el("div", { class: "shelf" });
  private readonly list = el("div", { class: "questions" });
  private readonly reply = el("div", { class: "reply", "aria-live": "polite" });

  constructor(
    private readonly model: Model,
    private readonly state: State,
  ) {
    for (const { id, asks } of QUESTIONS)
      this.list.append(button(asks, () => state.set({ question: state.view.question === id ? "" : id }), { "data-question": id }));
    this.root.append(this.list, this.reply);
  }

  refresh(): void {
    const { view } = this.state;
    for (const made of this.list.querySelectorAll("button")) made.setAttribute("aria-pressed", String(made.dataset["question"] === view.question));
    const question = QUESTIONS.find((q) => q.id === view.question);
    this.reply.replaceChildren();
    if (!question) return;
    const reply = question.reply(this.model, view);
    this.reply.append(el("p", {}, reply.words));
    if (reply.rows.length === 0) return;
    const table = plainTable(question.asks, reply.heads, reply.rows);
    table.querySelector("caption")?.classList.add("sr");
    table.querySelectorAll<HTMLElement>("tbody tr").forEach((tr, i) => {
      if (reply.units[i] < 0) return;
      tr.classList.add("can");
      const head = tr.querySelector("th")!;
      head.replaceChildren(button(head.textContent ?? "", () => this.state.set({ units: [reply.units[i]] }), { class: "link" }));
    });
    this.reply.append(el("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": question.asks }, table));
  }
}
