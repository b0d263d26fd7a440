// The keys of the run page.
import { useEffect, useRef, useState } from "react";

import type { RecordedEvent } from "../api/types";
import type { Playhead } from "../model/playhead";
import { isError } from "../model/steps/steps";
import { isTyping } from "../parts/TopBar";
import { useKeyPress } from "../parts/useKeyPress";
import { PANELS } from "./Stage";

/** Moves the playhead, and shows panels, by keys; the sheet of keys in parts/KeysHelp.tsx names them. */
export function useKeys(head: Playhead, events: readonly RecordedEvent[], show: (panel: string) => void): void {
  useKeyPress((event) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
      return;
    const panel = PANELS[Number(event.key) - 1];
    if (panel !== undefined) return show(panel.id);
    const to = target(event, head.at, events);
    if (to === null) return;
    event.preventDefault();
    head.move(to);
  });
}

/** Where a key moves the playhead to; null: it does not. */
export function target(
  key: Pick<KeyboardEvent, "key" | "shiftKey">,
  at: number,
  events: readonly Pick<RecordedEvent, "kind" | "seq">[],
): number | null {
  const to = (step: 1 | -1, is: (kind: string) => boolean): number | null => {
    for (let n = at - 1 + step; n >= 0 && n < events.length; n += step) {
      const event = events[n];
      if (event !== undefined && is(event.kind)) return event.seq;
    }
    return null;
  };
  const isCall = (kind: string) => kind === "llm_called";
  switch (key.key) {
    case "ArrowLeft":
      return key.shiftKey ? to(-1, isCall) : at - 1;
    case "ArrowRight":
      return key.shiftKey ? to(1, isCall) : at + 1;
    case "e":
      return to(1, isError);
    case "E":
      return to(-1, isError);
    case "Home":
      return 1;
    case "End":
      return events.length;
    default:
      return null;
  }
}

const WHOLE_RUN_MS = 10_000;

/** Playing: real time for short runs, ten seconds for long ones. Stops at the end, and when the page goes. */
export function usePlaying(head: Playhead, events: readonly RecordedEvent[]) {
  const [isPlaying, setPlaying] = useState(false);
  const latest = useRef(events);
  latest.current = events;
  useEffect(() => {
    if (!isPlaying) return;
    const all = latest.current;
    if (head.at >= all.length) head.move(1);
    const from = head.at;
    const first = performance.now();
    const msEach = WHOLE_RUN_MS / Math.max(20, all.length);
    let frame = requestAnimationFrame(function step(now) {
      const to = from + Math.floor((now - first) / msEach);
      head.move(to);
      if (to >= latest.current.length) setPlaying(false);
      else frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, head]);
  return { isPlaying, turn: () => setPlaying((before) => !before) };
}
