// Where CPU time went: segments, phases, and inside each phase.
import { el, figure, cell, foldedTable, plainTable, button } from "./dom";
import { count, duration, percent, seconds, visible } from "./format";
import type { Model } from "./model";
import type { State } from "./state";
import { coverageLine } from "./coverage";
import { describeSelection, NO_DETAIL, summarize, type Summary } from "./summary";
import { inkOn } from "./color";

interface Line {
  name: string;
  cpu: number;
  share: number;
  color: string;
  pressed: boolean;
  title: string;
  act?: () => void;
}

// A bar with its name before and its figures behind: the same grid for all of a group.
function bars(lines: Line[], most: number, className: string): HTMLElement {
  const list = el("div", { class: `bars ${className}`, role: "list" });
  for (const line of lines) {
    const bar = el("span", { class: "bar" });
    bar.style.width = `${most > 0 ? (100 * line.cpu) / most : 0}%`;
    bar.style.background = line.color;
    const name = line.act ? button(line.name, line.act, { class: "name", "aria-pressed": String(line.pressed) }) : el("span", { class: "name" }, line.name);
    list.append(
      el("div", { class: "line", role: "listitem", title: line.title }, name, el("span", { class: "track" }, bar),
        el("span", { class: "number" }, duration(line.cpu)), el("span", { class: "number share" }, percent(line.share))),
    );
  }
  return list;
}

export class Phases {
  readonly root = el("div", { class: "phases" });
  private readonly table = foldedTable("Table of phases and details", () => this.asTable());
  private summary: Summary | null = null;

  constructor(
    private readonly model: Model,
    private readonly state: State,
  ) {}

  refresh(): void {
    const { model } = this;
    const { view } = this.state;
    const summary = summarize(model, view);
    this.summary = summary;
    this.root.replaceChildren();
    if (summary.total <= 0) {
      this.root.append(el("p", { class: "empty" }, `No samples in ${visible(describeSelection(model, view))}.`));
      return;
    }
    this.root.append(
      el("p", { class: "scope" }, el("strong", {}, visible(describeSelection(model, view))), `: ${duration(summary.total)} of CPU time in samples. `, coverageLine(model)),
    );
    if (!summary.exact) {
      this.root.append(el("p", { class: "note" }, "Of spans that the range cuts, the part inside is taken by its share of the span's time."));
    }
    this.root.append(this.strip(summary), el("div", { class: "columns" }, this.segmentsAndPhases(summary), this.inside(summary)), this.table);
    this.table.dispatchEvent(new Event("refresh"));
  }

  private order(summary: Summary): number[] {
    return this.model.phases.map((p) => p.id).filter((id) => summary.cpu[id] > 0).sort((a, b) => this.model.phases[a].rank - this.model.phases[b].rank || a - b);
  }

  // All phases side by side: the whole, in the order of a compilation.
  private strip(summary: Summary): HTMLElement {
    const strip = el("div", { class: "strip", role: "img", "aria-label": "Shares of all phases; the table below has the figures" });
    for (const id of this.order(summary)) {
      const phase = this.model.phases[id];
      const share = summary.cpu[id] / summary.total;
      const part = el("span", { title: `${phase.segment} › ${phase.name}: ${percent(share)}`, "data-phase": phase.key });
      part.style.flexGrow = String(share);
      part.style.background = phase.css;
      part.style.color = inkOn(phase.color);
      if (share * (this.root.clientWidth || 1000) > phase.name.length * 8.5 + 14) part.append(el("span", {}, phase.name));
      strip.append(part);
    }
    return strip;
  }

  private segmentsAndPhases(summary: Summary): HTMLElement {
    const { model, state } = this;
    const box = el("div", { class: "levels" });
    const order = this.order(summary);
    const most = Math.max(...order.map((id) => summary.cpu[id]));
    for (const segment of model.segments) {
      const ids = order.filter((id) => model.phases[id].segment === segment.name);
      if (ids.length === 0) continue;
      const cpu = ids.reduce((a, id) => a + summary.cpu[id], 0);
      const swatch = el("span", { class: "swatch" });
      swatch.style.background = segment.css;
      const head = button(segment.name, () => state.set({ phase: state.view.phase === segment.name ? "" : segment.name }), {
        class: "name segment", "aria-pressed": String(state.view.phase === segment.name),
      });
      head.prepend(swatch);
      box.append(
        el("div", { class: "line head" }, head, el("span", {}), el("span", { class: "number" }, duration(cpu)), el("span", { class: "number share" }, percent(cpu / summary.total))),
        bars(ids.map((id): Line => {
          const phase = model.phases[id];
          return {
            name: phase.name, cpu: summary.cpu[id], share: summary.cpu[id] / summary.total, color: phase.css, pressed: state.view.phase === phase.key,
            title: `${count(summary.samples[id])} samples`, act: () => state.set({ phase: state.view.phase === phase.key ? "" : phase.key }),
          };
        }), most, "byphase"),
      );
    }
    if (summary.roles && summary.roles.size > 0) box.append(this.roles(summary.roles));
    return box;
  }

  private roles(roles: Map<string, number>): HTMLElement {
    const list = [...roles].sort((a, b) => b[1] - a[1]);
    const all = list.reduce((a, [, cpu]) => a + cpu, 0);
    const lines = list.map(([name, cpu]): Line => ({ name, cpu, share: cpu / all, color: "var(--neutral)", pressed: false, title: "" }));
    return el("div", { class: "roles" }, el("h4", {}, "By what the thread is there for"), bars(lines, Math.max(...lines.map((l) => l.cpu)), "byrole"));
  }

  // Each group sums to its phase. What no marker names, and what has no symbols, is drawn like the rest.
  private inside(summary: Summary): HTMLElement {
    const box = el("div", { class: "inside-phases" }, el("h4", {}, "Inside each phase"));
    if (!summary.details) {
      box.append(el("p", { class: "note" }, "Details are kept for whole units, not for a stretch of time or a thread: clear these to see them."));
      return box;
    }
    const groups = el("div", { class: "inside-groups" });
    box.append(groups);
    for (const id of this.order(summary).sort((a, b) => summary.cpu[b] - summary.cpu[a])) {
      const phase = this.model.phases[id];
      const details = summary.details.get(id) ?? [];
      if (details.every((d) => d.name === NO_DETAIL)) continue;
      const lines = details.map((d): Line => ({
        name: visible(d.name), cpu: d.cpu, share: d.cpu / summary.cpu[id], color: phase.css, pressed: false, title: `${count(d.samples)} samples`,
      }));
      const head = el("h5", {}, phase.name, el("span", { class: "of" }, ` ${duration(summary.cpu[id])}`));
      groups.append(el("section", { "data-phase": phase.key }, head, bars(lines, lines[0].cpu, "bydetail")));
    }
    return box;
  }

  private asTable(): HTMLElement {
    const summary = this.summary!;
    const rows = this.order(summary).flatMap((id) => {
      const phase = this.model.phases[id];
      const line = (detail: string, cpu: number, samples: number, share: number): ReturnType<typeof cell>[] => [
        cell(phase.segment), cell(phase.name), cell(visible(detail)), figure(seconds(cpu, 3)), figure(count(samples)), figure(percent(share)),
      ];
      const own = line("all", summary.cpu[id], summary.samples[id], summary.cpu[id] / summary.total);
      const details = summary.details?.get(id) ?? [];
      return [own, ...details.map((d) => line(d.name, d.cpu, d.samples, d.cpu / summary.total))];
    });
    const heads = [cell("segment"), cell("phase"), cell("detail"), figure("CPU s"), figure("samples"), figure("share")];
    return plainTable(null, heads, rows);
  }
}
