// What becomes known of a run while it goes on. Only that something is new is taken from the stream: what it is, the API says.
import { useEffect, useRef, useState } from "react";

import { useLive } from "../../api/live";

/**
 * `last` is the seq of the last event. `changes` counts what changed events that were known before. `hasEnded`: the collector
 * said that nothing will follow. `cutSince`: when the connection was lost, null: it is there, or the run does not go on.
 * `heardAt`: when the last event came. Both in ms since 1970.
 */
export type LiveRun = {
  last: number;
  changes: number;
  hasEnded: boolean;
  cutSince: number | null;
  heardAt: number | null;
};

/** Events that come together are shown together. */
const TOGETHER_MS = 100;

/** `known` is the number of events of the run as it was read; the stream begins behind those of the first reading. */
export function useLiveRun(run: string, isRunning: boolean, known: number): LiveRun {
  const [after] = useState(known);
  const [live, setLive] = useState<LiveRun>({
    last: known,
    changes: 0,
    hasEnded: false,
    cutSince: null,
    heardAt: null,
  });
  const pending = useRef<{ last: number; changes: number; timer: ReturnType<typeof setTimeout> | undefined }>({
    last: 0,
    changes: 0,
    timer: undefined,
  });
  const show = () => {
    const { last, changes } = pending.current;
    pending.current = { last: 0, changes: 0, timer: undefined };
    setLive((before) => ({
      ...before,
      last: Math.max(before.last, last),
      changes: before.changes + changes,
      heardAt: Date.now(),
    }));
  };
  const add = (last: number, changes: number) => {
    const waiting = pending.current;
    waiting.last = Math.max(waiting.last, last);
    waiting.changes += changes;
    waiting.timer ??= setTimeout(show, TOGETHER_MS);
  };
  useEffect(() => () => clearTimeout(pending.current.timer), []);
  useLive(
    isRunning ? `/runs/${encodeURIComponent(run)}/events` : null,
    { after, preview: 0 },
    {
      event: ({ seq }) => add(seq, seq <= live.last ? 1 : 0),
      moved: () => add(0, 1),
      missed: () => add(0, 1),
      ended: () => setLive((before) => ({ ...before, hasEnded: true, cutSince: null })),
      lost: (isLost) => setLive((before) => ({ ...before, cutSince: isLost ? (before.cutSince ?? Date.now()) : null })),
    },
  );
  return { ...live, last: Math.max(live.last, known), cutSince: isRunning ? live.cutSince : null };
}
