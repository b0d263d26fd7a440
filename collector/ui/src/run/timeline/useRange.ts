// Narrowing the timeline to a part of the run: by dragging a range, or by keys at the playhead.
import { type PointerEvent, useState } from "react";

import { type Axis, nearest } from "../../model/timeline/axis";
import type { Focus } from "../../model/timeline/focus";
import type { Playhead } from "../../model/playhead";
import { isTyping } from "../../parts/TopBar";
import { useKeyPress } from "../../parts/useKeyPress";

/** Shorter drags are clicks. Of the width. */
const LEAST = 0.01;

/** What is being dragged, between 0 and 1, and the handlers that do it. */
export function useRange(axis: Axis, onFocus: (focus: Focus) => void) {
  const [dragged, setDragged] = useState<{ from: number; to: number } | null>(null);
  const drag = (event: PointerEvent<HTMLElement>) => {
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    else if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const room = event.currentTarget.getBoundingClientRect();
    const at = Math.max(0, Math.min(1, (event.clientX - room.left) / room.width));
    setDragged((before) => ({ from: event.type === "pointerdown" || before === null ? at : before.from, to: at }));
  };
  const chosen =
    dragged === null ? null : { low: Math.min(dragged.from, dragged.to), high: Math.max(dragged.from, dragged.to) };
  const done = () => {
    setDragged(null);
    if (chosen === null || chosen.high - chosen.low < LEAST) return;
    const focus = { from: 1 + nearest(axis.at, chosen.low), to: 1 + nearest(axis.at, chosen.high) };
    if (focus.to > focus.from) onFocus(focus);
  };
  return { chosen, drag, done, cancel: () => setDragged(null) };
}

/** `[` and `]` begin and end the focus at the playhead, `0` shows the whole run. */
export function useFocusKeys(
  head: Playhead,
  length: number,
  focus: Focus | null,
  onFocus: (focus: Focus | null) => void,
): void {
  useKeyPress((event) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
      return;
    const { from, to } = focus ?? { from: 1, to: length };
    if (event.key === "0") onFocus(null);
    else if (event.key === "[" && head.at < to) onFocus({ from: head.at, to });
    else if (event.key === "]" && head.at > from) onFocus({ from, to: head.at });
  });
}
