// Bands as pixels: rows are written into one image, so what a frame costs depends on the pixels and not on the spans behind them.
import { mix, pixel, type Rgb } from "./color";
import { NOTHING, type Row } from "./lod";

const LEVELS = 8;

// Colours by phase and by how much of the pixel is covered: a lone short span stays visible but is no wall.
export class BandColors {
  private readonly words: Uint32Array;
  readonly empty: number;

  constructor(colors: Rgb[], back: Rgb, faded: (index: number) => boolean) {
    this.words = new Uint32Array(Math.max(1, colors.length) * LEVELS);
    this.empty = pixel(back);
    colors.forEach((color, i) => {
      const full = faded(i) ? mix(back, color, 0.22) : color;
      for (let level = 0; level < LEVELS; level++) {
        const cover = level / (LEVELS - 1);
        this.words[i * LEVELS + level] = pixel(mix(back, full, cover >= 0.5 ? 1 : 0.4 + 1.2 * cover));
      }
    });
  }

  of(phase: number, cover: number): number {
    return phase === NOTHING ? this.empty : this.words[phase * LEVELS + Math.round(cover * (LEVELS - 1))];
  }
}

export class Raster {
  private image: ImageData | null = null;
  private words = new Uint32Array(0);
  private width = 0;
  private height = 0;

  // An image of one colour.
  begin(width: number, height: number, back: Rgb): void {
    if (!this.image || this.width !== width || this.height !== height) {
      this.image = new ImageData(Math.max(1, width), Math.max(1, height));
      this.words = new Uint32Array(this.image.data.buffer);
      this.width = width;
      this.height = height;
    }
    this.words.fill(pixel(back));
  }

  // Rows [top, bottom) of the image, from left on: a row's pixels.
  band(row: Row, colors: BandColors, from: number, to: number, left: number, top: number, bottom: number): void {
    const first = Math.max(0, top);
    const last = Math.min(this.height, bottom);
    const a = Math.max(0, from);
    const b = Math.min(to, row.phase.length, this.width - left);
    if (first >= last || a >= b) return;
    const at = first * this.width + left;
    for (let x = a; x < b; x++) this.words[at + x] = colors.of(row.phase[x], row.cover[x]);
    for (let y = first + 1; y < last; y++) this.words.copyWithin(y * this.width + left + a, at + a, at + b);
  }

  put(ctx: CanvasRenderingContext2D, x: number, y: number): void {
    if (this.image) ctx.putImageData(this.image, x, y);
  }
}
