// All events of a run: the first page is there at once, the others follow while one already looks.
import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react";

import { type ApiError, get } from "../../api/client";
import { useLive } from "../../api/live";
import type { Page, RecordedEvent } from "../../api/types";
import { readEvents, withEvent } from "./readEvents";

const PREVIEW = 160;

export type Events = { items: readonly RecordedEvent[]; isWhole: boolean; error: ApiError | null; isCut: boolean };

/** The events from seq 1 on, without gaps; about `expected` of them are read in parallel. `isCut`: the live stream is cut, and the browser tries again. */
export function useEvents(run: string, isRunning: boolean, expected: number): Events {
  const [state, setState] = useState<Events & { liveAfter: number }>({
    items: [],
    isWhole: false,
    error: null,
    isCut: false,
    liveAfter: 0,
  });
  const [asked, setAsked] = useState(0);
  const items = useRef<RecordedEvent[]>([]);
  const early = useRef<RecordedEvent[] | null>(null); // what comes live while events are read
  const readAgain = useCallback(() => setAsked((n) => n + 1), []);
  const take = useCallback(
    (event: RecordedEvent) => {
      const next = withEvent(items.current, event);
      if (next === null) readAgain();
      else items.current = next;
    },
    [readAgain],
  );
  const expectedNow = useEffectEvent(() => expected);
  useEffect(() => {
    const stop = new AbortController();
    items.current = [];
    early.current = [];
    const ask = (after: number, limit: number) =>
      get<Page<RecordedEvent>>(`/runs/${run}/events`, { after, limit, preview: PREVIEW }, stop.signal);
    readEvents(ask, expectedNow(), (read, isWhole) => {
      if (stop.signal.aborted) return;
      items.current = read;
      if (isWhole) {
        const came = early.current ?? [];
        early.current = null;
        came.forEach(take);
      }
      const last = items.current.at(-1)?.seq ?? 0;
      setState((before) => ({
        ...before,
        items: items.current,
        isWhole,
        liveAfter: !isWhole ? 0 : before.isWhole ? before.liveAfter : last,
        error: null,
      }));
    }).catch((error: ApiError) => {
      if (stop.signal.aborted) return;
      early.current = null;
      setState((before) => ({ ...before, error }));
    });
    return () => stop.abort();
  }, [run, asked, take]);
  useLive(
    isRunning && state.isWhole ? `/runs/${run}/events` : null,
    { after: state.liveAfter, preview: PREVIEW },
    {
      event: (event) => {
        if (early.current !== null) return void early.current.push(event);
        take(event);
        setState((before) => ({ ...before, items: items.current }));
      },
      moved: readAgain,
      missed: readAgain,
      lost: (isCut) => setState((before) => ({ ...before, isCut })),
    },
  );
  return state;
}
