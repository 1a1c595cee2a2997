// Colours from OKLCH, a space in which equal steps look equal, to the bytes of a canvas.

export interface Rgb {
  r: number;
  g: number;
  b: number;
}

// Linear light, 0 to 1 inside of sRGB's gamut (Ottosson's matrices).
export function linearFromOklch(lightness: number, chroma: number, hue: number): [number, number, number] {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

const inGamut = (c: readonly number[]): boolean => c.every((x) => x >= -1e-4 && x <= 1 + 1e-4);

function encode(x: number): number {
  const v = Math.min(1, Math.max(0, x));
  return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
}

export function decode(byte: number): number {
  const v = byte / 255;
  return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
}

// What lies outside of sRGB loses chroma, never lightness or hue: the order of a family stays.
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  let low = 0;
  let high = chroma;
  let linear = linearFromOklch(lightness, chroma, hue);
  if (!inGamut(linear)) {
    for (let i = 0; i < 20; i++) {
      const mid = (low + high) / 2;
      if (inGamut(linearFromOklch(lightness, mid, hue))) low = mid;
      else high = mid;
    }
    linear = linearFromOklch(lightness, low, hue);
  }
  return { r: encode(linear[0]), g: encode(linear[1]), b: encode(linear[2]) };
}

export function luminance(c: Rgb): number {
  return 0.2126 * decode(c.r) + 0.7152 * decode(c.g) + 0.0722 * decode(c.b);
}

export const css = (c: Rgb): string => `#${[c.r, c.g, c.b].map((x) => x.toString(16).padStart(2, "0")).join("")}`;

// As a pixel of an ImageData seen as 32-bit words, on the little-endian machines that browsers run on.
export const pixel = (c: Rgb): number => ((255 << 24) | (c.b << 16) | (c.g << 8) | c.r) >>> 0;

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const at = (x: number, y: number): number => Math.round(x + (y - x) * share);
  return { r: at(a.r, b.r), g: at(a.g, b.g), b: at(a.b, b.b) };
}

// Black or white, whichever reads better on it.
export const inkOn = (c: Rgb): string => (luminance(c) > 0.21 ? "#10131a" : "#ffffff");
