// Widths of the zones: dragged or moved with the arrow keys, collapsed by Enter or a double click, and remembered.
import { useEffect, useRef, type KeyboardEvent, type PointerEvent } from "react";

const STEP = 24;
const LEAST = 180;

/** `box` is the grid; `left` and `right` are the handlers of the dividers. */
export function useZones() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    for (const side of ["left", "right"]) {
      const width = localStorage.getItem(`zone-${side}`);
      if (width === "0" || Number(width) >= LEAST) box.current?.style.setProperty(`--${side}`, `${Number(width)}px`);
    }
  });
  const set = (side: "left" | "right", width: number) => {
    const room = (box.current?.clientWidth ?? 1200) - 2 * LEAST - 100;
    const held = Math.round(Math.max(LEAST, Math.min(width, room)));
    box.current?.style.setProperty(`--${side}`, `${held}px`);
    localStorage.setItem(`zone-${side}`, String(held));
  };
  /** Collapses a zone, or opens a collapsed one with its first width. */
  const turn = (side: "left" | "right") => {
    const isCollapsed = localStorage.getItem(`zone-${side}`) === "0";
    if (isCollapsed) box.current?.style.removeProperty(`--${side}`);
    else box.current?.style.setProperty(`--${side}`, "0px");
    if (isCollapsed) localStorage.removeItem(`zone-${side}`);
    else localStorage.setItem(`zone-${side}`, "0");
  };
  const handlers = (side: "left" | "right") => ({
    title: "Drag, or ← →: width. Double click, or Enter: collapse or open",
    onDoubleClick: () => turn(side),
    onPointerDown: (event: PointerEvent<HTMLElement>) => event.currentTarget.setPointerCapture(event.pointerId),
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      const room = box.current?.getBoundingClientRect();
      if (room === undefined || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
      set(side, side === "left" ? event.clientX - room.left : room.right - event.clientX);
    },
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
      if (event.key === "Enter") return turn(side);
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
