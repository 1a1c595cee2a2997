// Keys that work anywhere on the page: w s a d, f, /. The others belong to the chart that has the focus.
import type { TimeAxis } from "./axis";
import { isTyping } from "./dom";
import type { State } from "./state";

export class Keys {
  private axis: () => TimeAxis;

  constructor(state: State, search: HTMLInputElement, first: () => TimeAxis) {
    this.axis = first;
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (!this.act(event.key, state, search)) return;
      event.preventDefault();
    });
  }

  // The chart that was used last is the one that keys speak to.
  watch(canvas: HTMLCanvasElement, axis: () => TimeAxis, first = false): void {
    if (first) this.axis = axis;
    for (const type of ["focus", "pointerenter"]) canvas.addEventListener(type, () => (this.axis = axis));
  }

  private act(key: string, state: State, search: HTMLInputElement): boolean {
    const axis = this.axis();
    switch (key.toLowerCase()) {
      case "w": axis.zoom(0.7); return true;
      case "s": axis.zoom(1 / 0.7); return true;
      case "a": axis.pan(-0.15); return true;
      case "d": axis.pan(0.15); return true;
      case "f": axis.fit(); return true;
      case "/": search.focus(); search.select(); return true;
      case "escape": state.set({ units: [], thread: -1, phase: "", range: null, find: "", events: "", fns: "" }); return true;
      default: return false;
    }
  }
}
