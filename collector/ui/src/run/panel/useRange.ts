// A part of the run that the axis shows: chosen by dragging, or with [ ] and 0.
import { useState, type PointerEvent } from "react";

import { useKeyPress } from "../../parts/useKeyPress";
import type { Range } from "../page";
import { type Moments, seqAt } from "./lanes";
import { momentAt, type TimeAxis } from "./timeAxis";

/** Shorter drags are clicks. */
const LEAST = 0.005;

/** `drag` and `end` are for the pointer's events over the axis; `chosen` are the positions between which it is dragged. */
export function useRangeDrag(axis: TimeAxis, moments: Moments, onRange: (range: Range) => void) {
  const [chosen, setChosen] = useState<{ from: number; to: number } | null>(null);
  const at = (event: PointerEvent<HTMLElement>) => {
    const room = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - room.left) / room.width));
  };
  return {
    chosen: chosen === null ? null : { low: Math.min(chosen.from, chosen.to), high: Math.max(chosen.from, chosen.to) },
    begin: (event: PointerEvent<HTMLElement>) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      setChosen({ from: at(event), to: at(event) });
    },
    move: (event: PointerEvent<HTMLElement>) => {
      const to = at(event); // the event has no element any more when the state is set
      setChosen((before) => before && { ...before, to });
    },
    end: () => {
      if (chosen !== null && Math.abs(chosen.to - chosen.from) >= LEAST) {
        const [from, to] = [Math.min(chosen.from, chosen.to), Math.max(chosen.from, chosen.to)].map((each) =>
          seqAt(moments, momentAt(axis, each)),
        );
        if (from !== undefined && to !== undefined && to > from) onRange({ from, to });
      }
      setChosen(null);
    },
    cancel: () => setChosen(null),
  };
}

/** `[` begins the part at the playhead, `]` ends it there, `0` shows all. */
export function useRangeKeys(
  at: number,
  range: Range | null,
  onRange: (range: Range | null) => void,
  last: number,
): void {
  useKeyPress((event) => {
    const target = event.target;
    const isTyping =
      target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const { from, to } = range ?? { from: 1, to: last };
    if (event.key === "0" && range !== null) onRange(null);
    else if (event.key === "[" && at < to) onRange({ from: at, to });
    else if (event.key === "]" && at > from) onRange({ from, to: at });
  });
}
