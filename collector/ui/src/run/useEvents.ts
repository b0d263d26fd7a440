// All events of a run, page by page: the first page is there at once, the others follow while one already looks.
import { useEffect, useRef, useState } from "react";

import { ApiError, get } from "../api/client";
import { useLive } from "../api/live";
import type { Page, RecordedEvent } from "../api/types";

const FIRST_PAGE = 200;
const PAGE = 1000;
const PREVIEW = 160;
/** Pages between two drawings, while a long run is being read. */
const PAGES_AT_ONCE = 4;

export type Events = { items: readonly RecordedEvent[]; isWhole: boolean; error: ApiError | null; isCut: boolean };

/** The events from seq 1 on, without gaps. `isCut`: the live stream is cut, and the browser tries again. */
export function useEvents(run: string, isRunning: boolean): Events {
  const [state, setState] = useState<Events>({ items: [], isWhole: false, error: null, isCut: false });
  const [asked, setAsked] = useState(0);
  const items = useRef<RecordedEvent[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    items.current = [];
    read(run, stop.signal, (page, isWhole) => {
      items.current = [...items.current, ...page];
      setState((before) => ({ ...before, items: items.current, isWhole, error: null }));
    }).catch((error: ApiError) => {
      if (!stop.signal.aborted) setState((before) => ({ ...before, error }));
    });
    return () => stop.abort();
  }, [run, asked]);
  const last = items.current.at(-1)?.seq ?? 0;
  const start = useRef(0);
  if (state.isWhole && start.current === 0) start.current = last;
  useLive(isRunning && state.isWhole ? `/runs/${run}/events` : null, { after: start.current, preview: PREVIEW }, {
    event: (event) => {
      const known = items.current;
      if (event.seq === known.length + 1) items.current = [...known, event];
      else if (event.seq <= known.length) items.current = known.with(event.seq - 1, event);
      else return setAsked((n) => n + 1); // something was missed: read again
      setState((before) => ({ ...before, items: items.current }));
    },
    moved: () => setAsked((n) => n + 1),
    lost: (isCut) => setState((before) => ({ ...before, isCut })),
  });
  return state;
}

async function read(run: string, signal: AbortSignal, found: (page: RecordedEvent[], isWhole: boolean) => void): Promise<void> {
  let cursor: string | null = null;
  let waiting: RecordedEvent[] = [];
  let pages = 0;
  do {
    const limit: number = pages === 0 ? FIRST_PAGE : PAGE;
    const page: Page<RecordedEvent> = await get(`/runs/${run}/events`, { limit, preview: PREVIEW, cursor }, signal);
    waiting.push(...page.items);
    cursor = page.next_cursor;
    // A cursor may be given behind the last event of a run that still runs: then there is nothing more for now.
    if (page.items.length < limit) cursor = null;
    pages += 1;
    if (cursor === null || pages === 1 || pages % PAGES_AT_ONCE === 0) {
      found(waiting, cursor === null);
      waiting = [];
    }
  } while (cursor !== null);
}
