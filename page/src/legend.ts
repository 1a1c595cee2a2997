// Colours by phase; a click dims all others.
import { button, el } from "./dom";
import type { Model } from "./model";
import type { State } from "./state";

export class Legend {
  readonly root = el("div", { class: "legend phases-legend" });

  constructor(model: Model, state: State) {
    const used = new Set(model.spans.phase);
    for (const segment of model.segments) {
      const phases = model.phases.filter((p) => p.segment === segment.name && used.has(p.id)).sort((a, b) => a.rank - b.rank);
      if (phases.length === 0) continue;
      const group = el("div", { class: "family" }, el("span", { class: "family-name" }, segment.name));
      for (const phase of phases) {
        const swatch = el("span", { class: "swatch" });
        swatch.style.background = phase.css;
        const made = button(phase.name, () => state.set({ phase: state.view.phase === phase.key ? "" : phase.key }), { class: "key", "data-phase": phase.key });
        made.prepend(swatch);
        group.append(made);
      }
      this.root.append(group);
    }
    const mark = (): void => {
      for (const made of this.root.querySelectorAll("button")) made.setAttribute("aria-pressed", String(made.dataset["phase"] === state.view.phase));
    };
    mark();
    state.listen((changed) => changed.has("phase") && mark());
  }
}
