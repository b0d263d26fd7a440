// The height of the panel: its upper edge is dragged, or moved with the arrow keys, and the height is remembered.
import { useState, type KeyboardEvent, type PointerEvent } from "react";

const STEP = 24;
const LEAST = 72;
/** What stays above the panel. */
const ABOVE = 240;

const most = () => Math.max(LEAST, window.innerHeight - ABOVE);
const held = (height: number) => Math.round(Math.max(LEAST, Math.min(height, most())));

/** `name` is what it is remembered by. Returns the height in px, and the attributes of the edge. */
export function useHeight(name: string, usual: number) {
  const key = `panel-${name}`;
  const [heights, setHeights] = useState<Readonly<Record<string, number>>>({});
  const height = heights[key] ?? held(Number(localStorage.getItem(key)) || usual);
  const set = (to: number) => {
    localStorage.setItem(key, String(held(to)));
    setHeights((before) => ({ ...before, [key]: held(to) }));
  };
  const edge = {
    role: "separator",
    tabIndex: 0,
    "aria-orientation": "horizontal",
    "aria-label": "Height of the panel",
    "aria-valuemin": LEAST,
    "aria-valuemax": most(),
    "aria-valuenow": height,
    title: "Drag, or ↑ ↓: height. Double click: as usual",
    onDoubleClick: () => set(usual),
    onPointerDown: (event: PointerEvent<HTMLElement>) => event.currentTarget.setPointerCapture(event.pointerId),
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      const panel = event.currentTarget.parentElement?.getBoundingClientRect();
      if (panel === undefined || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
      set(height + panel.top - event.clientY);
    },
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
      if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
      event.preventDefault();
      event.stopPropagation();
      set(height + (event.key === "ArrowUp" ? STEP : -STEP));
    },
  } as const;
  return { height, edge };
}
