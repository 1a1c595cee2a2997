// Pointer, wheel and touch on a chart over time: pan, zoom, choose a range, point, click.
import type { TimeAxis } from "./axis";
import { hideTip } from "./tooltip";

export interface Target {
  canvas: HTMLCanvasElement;
  axis(): TimeAxis;
  left(): number; // where the axis begins, CSS pixels
  width(): number; // of the axis
  hover(x: number, y: number, client: { x: number; y: number }): void;
  leave(): void;
  click(x: number, y: number, event: PointerEvent): void;
  choose?(t0: number, t1: number, done: boolean): void; // a range, by Shift and drag or by drag in the axis
  rulerHeight: number;
}

const SLOP = 4; // pixels that a click may move

export function attachGestures(target: Target): void {
  const { canvas } = target;
  const down = new Map<number, { x: number; y: number }>();
  let from: { x: number; y: number; t0: number; t1: number; choosing: boolean; moved: boolean } | null = null;
  let pinch: { distance: number; middle: number } | null = null;

  const local = (event: MouseEvent): { x: number; y: number } => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const time = (x: number): number => {
    const axis = target.axis();
    return axis.t0 + ((x - target.left()) / target.width()) * (axis.t1 - axis.t0);
  };
  const begin = (at: { x: number; y: number }, shift: boolean): void => {
    const axis = target.axis();
    from = { ...at, t0: axis.t0, t1: axis.t1, choosing: Boolean(target.choose) && (shift || at.y < target.rulerHeight), moved: false };
  };
  const twoPoints = (): { distance: number; middle: number } => {
    const [a, b] = [...down.values()];
    return { distance: Math.max(10, Math.abs(a.x - b.x)), middle: (a.x + b.x) / 2 };
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const at = local(event);
    down.set(event.pointerId, at);
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 2) {
      pinch = twoPoints();
      from = null;
    } else if (down.size === 1) begin(at, event.shiftKey);
  });

  canvas.addEventListener("pointermove", (event) => {
    const at = local(event);
    if (!down.has(event.pointerId)) {
      target.hover(at.x, at.y, { x: event.clientX, y: event.clientY });
      return;
    }
    down.set(event.pointerId, at);
    const axis = target.axis();
    if (pinch && down.size === 2) {
      const now = twoPoints();
      const around = time(pinch.middle);
      axis.zoom(pinch.distance / now.distance, around);
      axis.pan((pinch.middle - now.middle) / target.width());
      pinch = now;
      return;
    }
    if (!from) return;
    if (!from.moved && Math.abs(at.x - from.x) < SLOP && Math.abs(at.y - from.y) < SLOP) return;
    from.moved = true;
    hideTip();
    if (from.choosing) target.choose?.(Math.min(time(from.x), time(at.x)), Math.max(time(from.x), time(at.x)), false);
    else {
      const by = ((from.x - at.x) / target.width()) * (from.t1 - from.t0);
      axis.set(from.t0 + by, from.t1 + by);
    }
  });

  const up = (event: PointerEvent): void => {
    const at = local(event);
    if (!down.delete(event.pointerId)) return;
    if (pinch) {
      pinch = down.size === 2 ? pinch : null;
      from = null;
      return;
    }
    const was = from;
    from = null;
    if (!was || event.type === "pointercancel") return;
    if (!was.moved) target.click(at.x, at.y, event);
    else if (was.choosing) target.choose?.(Math.min(time(was.x), time(at.x)), Math.max(time(was.x), time(at.x)), true);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => {
    hideTip();
    target.leave();
  });

  canvas.addEventListener("wheel", (event) => {
    const axis = target.axis();
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      axis.zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) * 0.005), time(local(event).x));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      axis.pan((event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX) / target.width());
    }
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => target.axis().zoom(event.shiftKey ? 2.5 : 0.4, time(local(event).x)));
}
