// What charts over time have in common: a gutter for names, a ruler, the range that is selected, keys and gestures.
import { ticks, type TimeAxis } from "./axis";
import { el } from "./dom";
import { attachGestures } from "./gestures";
import { Pane } from "./pane";
import { inks } from "./theme";

export const RULER = 24;

export abstract class TimeChart {
  readonly pane: Pane;
  readonly scroller: HTMLDivElement;
  private readonly spacer: HTMLDivElement;
  private bound: TimeAxis[] = [];
  protected scrolled = 0; // as the scroller says: asking it costs a layout
  protected content = 0; // height of all rows

  constructor(
    label: string,
    protected readonly onRange: ((t0: number, t1: number, done: boolean) => void) | null,
    protected readonly maxHeight: () => number,
    className = "",
  ) {
    this.pane = new Pane(label, () => this.draw(), className);
    this.spacer = el("div", { class: "spacer" });
    this.scroller = el("div", { class: `scroller ${className}` }, this.pane.box, this.spacer);
    this.scroller.addEventListener("scroll", () => {
      this.scrolled = this.scroller.scrollTop;
      this.pane.invalidate();
    }, { passive: true });
    attachGestures({
      canvas: this.pane.canvas,
      axis: () => this.axis(),
      left: () => this.gutter,
      width: () => this.plotWidth,
      hover: (x, y, client) => this.hover(x, y, client),
      leave: () => this.leave(),
      click: (x, y, event) => this.click(x, y, event),
      ...(this.onRange ? { choose: this.onRange } : {}),
      rulerHeight: RULER,
    });
    this.pane.canvas.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.key(event)) event.preventDefault();
    });
    addEventListener("resize", () => this.layout());
  }

  abstract axis(): TimeAxis;
  protected abstract draw(): void;
  protected abstract hover(x: number, y: number, client: { x: number; y: number }): void;
  protected leave(): void {}
  protected click(_x: number, _y: number, _event: PointerEvent): void {}

  follow(axis: TimeAxis): void {
    if (this.bound.includes(axis)) return;
    this.bound.push(axis);
    axis.listen(() => this.pane.invalidate());
  }

  get gutter(): number {
    const width = this.pane.width;
    return width < 560 ? Math.round(width * 0.26) : Math.min(260, Math.round(width * 0.17));
  }

  get plotWidth(): number {
    return Math.max(1, this.pane.width - this.gutter);
  }

  x(t: number): number {
    const axis = this.axis();
    return this.gutter + ((t - axis.t0) / (axis.t1 - axis.t0)) * this.plotWidth;
  }

  time(x: number): number {
    const axis = this.axis();
    return axis.t0 + ((x - this.gutter) / this.plotWidth) * (axis.t1 - axis.t0);
  }

  // Rows of this height in all: the pane shows as many as there is room for, the rest is scrolled to.
  layout(content = this.content): void {
    this.content = content;
    const height = Math.min(content + RULER, Math.max(160, this.maxHeight()));
    this.pane.setHeight(height);
    this.scroller.style.maxHeight = `${height}px`;
    this.spacer.style.height = `${Math.max(0, content + RULER - height)}px`;
    this.pane.invalidate();
  }

  // Keys while the chart has the focus; what is not used is left to the page.
  protected key(event: KeyboardEvent): boolean {
    const axis = this.axis();
    switch (event.key) {
      case "ArrowLeft": axis.pan(-0.1); return true;
      case "ArrowRight": axis.pan(0.1); return true;
      case "ArrowUp": this.scroller.scrollBy({ top: -48 }); return true;
      case "ArrowDown": this.scroller.scrollBy({ top: 48 }); return true;
      case "PageUp": this.scroller.scrollBy({ top: -this.pane.height * 0.9 }); return true;
      case "PageDown": this.scroller.scrollBy({ top: this.pane.height * 0.9 }); return true;
      case "Home": this.scroller.scrollTo({ top: 0 }); return true;
      case "End": this.scroller.scrollTo({ top: this.content }); return true;
      case "+": case "=": axis.zoom(0.6); return true;
      case "-": axis.zoom(1 / 0.6); return true;
      default: return false;
    }
  }

  // Ruler above, lines below.
  protected drawRuler(): void {
    const { ctx } = this.pane;
    const { muted, grid } = inks();
    const axis = this.axis();
    this.pane.font(11);
    ctx.textAlign = "left";
    let free = this.gutter;
    for (const tick of ticks(axis.t0, axis.t1, this.plotWidth)) {
      const x = Math.round(this.x(tick.at)) + 0.5;
      if (x < this.gutter) continue;
      ctx.fillStyle = grid;
      ctx.fillRect(x - 0.5, RULER - 6, 1, this.pane.height - RULER + 6);
      const width = this.pane.measure(tick.label);
      if (x + 4 < free || x + 4 + width > this.pane.width) continue;
      ctx.fillStyle = muted;
      ctx.fillText(tick.label, x + 4, RULER / 2);
      free = x + 4 + width + 8;
    }
  }

  // What lies outside of the selected range is dimmed.
  protected drawRange(range: [number, number] | null): void {
    if (!range) return;
    const { ctx, height, width } = this.pane;
    const { back, mark } = inks();
    const a = Math.max(this.gutter, Math.min(width, this.x(range[0])));
    const b = Math.max(this.gutter, Math.min(width, this.x(range[1])));
    ctx.fillStyle = `rgba(${back.r},${back.g},${back.b},0.62)`;
    ctx.fillRect(this.gutter, RULER, a - this.gutter, height - RULER);
    ctx.fillRect(b, RULER, width - b, height - RULER);
    ctx.fillStyle = mark;
    ctx.fillRect(a, RULER - 4, Math.max(1, b - a), 3);
    ctx.fillRect(a, RULER, 1, height - RULER);
    ctx.fillRect(b - 1, RULER, 1, height - RULER);
  }
}
