// A canvas in the page: as sharp as the screen, drawn once a frame when something changed, and never while out of sight.
import { el } from "./dom";
import { inks, onTheme } from "./theme";

export class Pane {
  readonly box: HTMLDivElement;
  readonly canvas: HTMLCanvasElement;
  readonly ctx: CanvasRenderingContext2D;
  width = 0; // CSS pixels
  height = 0;
  dpr = 1;
  private scale = 1;
  private wanted = false;
  private visible = false;
  private readonly byFont = new Map<string, Map<string, number>>();
  private widths = new Map<string, number>(); // in the font in force

  constructor(
    label: string,
    private readonly draw: () => void,
    className = "",
  ) {
    this.canvas = el("canvas", { role: "img", "aria-label": label, tabindex: "0" });
    this.box = el("div", { class: `pane ${className}` }, this.canvas);
    this.ctx = this.canvas.getContext("2d", { alpha: false })!; // opaque: nothing has to be blended into the page
    new ResizeObserver(() => this.resize()).observe(this.box);
    new IntersectionObserver((seen) => {
      this.visible = seen[seen.length - 1].isIntersecting;
      if (this.visible) this.invalidate();
    }).observe(this.box);
    onTheme(() => this.invalidate());
    addEventListener("beforeprint", () => {
      this.resize();
      this.paint();
    });
  }

  setHeight(height: number): void {
    if (height === this.height) return;
    this.height = height;
    this.canvas.style.height = `${height}px`;
    this.resize();
  }

  resize(): void {
    const width = Math.floor(this.box.clientWidth);
    const dpr = Math.min(3, window.devicePixelRatio || 1);
    const w = Math.round(width * dpr);
    const h = Math.round(this.height * dpr);
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.width = `${width}px`;
    }
    this.width = width;
    this.dpr = dpr;
    // Where the page's own letters are larger than usual these are too, as far as rows have room.
    this.scale = Math.max(1, Math.min(1.25, parseFloat(getComputedStyle(document.documentElement).fontSize) / 15.5));
    this.invalidate();
  }

  invalidate(): void {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      if (this.visible) this.paint();
      else this.wanted = false;
    });
  }

  private paint(): void {
    this.wanted = false;
    if (this.width <= 0 || this.height <= 0) return;
    this.ctx.setTransform(this.dpr, 0, 0, this.dpr, 0, 0);
    this.draw();
  }

  clear(): void {
    const { back } = inks();
    this.ctx.fillStyle = `rgb(${back.r},${back.g},${back.b})`;
    this.ctx.fillRect(0, 0, this.width, this.height);
  }

  font(size: number, weight = 400): void {
    const font = `${weight} ${(size * this.scale).toFixed(1)}px ${inks().font}`;
    this.ctx.font = font;
    this.ctx.textBaseline = "middle";
    let widths = this.byFont.get(font);
    if (!widths) this.byFont.set(font, (widths = new Map()));
    this.widths = widths;
  }

  // Width of a text in the font in force.
  measure(text: string): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 20000) this.widths.clear();
      width = this.ctx.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }

  // As much of a text as there is room for; "" where not even three letters fit.
  fit(text: string, room: number): string {
    if (room < 8 || text === "" || (room < 22 && text.length > 3)) return "";
    if (text.length * 2 < room && this.measure(text) <= room) return text;
    const points = Array.from(text.slice(0, Math.ceil(room / 2) + 4));
    if (points.length === text.length && this.measure(text) <= room) return text;
    let low = 0;
    let high = points.length;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (this.measure(`${points.slice(0, mid).join("")}…`) <= room) low = mid;
      else high = mid - 1;
    }
    return low >= 3 ? `${points.slice(0, low).join("")}…` : "";
  }
}
