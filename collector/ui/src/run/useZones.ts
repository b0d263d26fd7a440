// Widths of the zones: dragged or moved with the arrow keys, and remembered.
import { useEffect, useRef, type KeyboardEvent, type PointerEvent } from "react";

const STEP = 24;
const LEAST = 180;

/** `box` is the grid; `left` and `right` are the handlers of the dividers. */
export function useZones() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    for (const side of ["left", "right"]) {
      const width = Number(localStorage.getItem(`zone-${side}`));
      if (width >= LEAST) box.current?.style.setProperty(`--${side}`, `${width}px`);
    }
  });
  const set = (side: "left" | "right", width: number) => {
    const room = (box.current?.clientWidth ?? 1200) - 2 * LEAST - 100;
    const held = Math.round(Math.max(LEAST, Math.min(width, room)));
    box.current?.style.setProperty(`--${side}`, `${held}px`);
    localStorage.setItem(`zone-${side}`, String(held));
  };
  const handlers = (side: "left" | "right") => ({
    onPointerDown: (event: PointerEvent<HTMLElement>) => event.currentTarget.setPointerCapture(event.pointerId),
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      const room = box.current?.getBoundingClientRect();
      if (room === undefined || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
      set(side, side === "left" ? event.clientX - room.left : room.right - event.clientX);
    },
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.stopPropagation();
      const zones = box.current?.querySelectorAll("section");
      const now = zones?.[side === "left" ? 0 : 2]?.clientWidth ?? LEAST;
      const isWider = (event.key === "ArrowLeft") === (side === "right");
      set(side, isWider ? now + STEP : now - STEP);
    },
  });
  return { box, left: handlers("left"), right: handlers("right") };
}
