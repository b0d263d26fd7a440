// Finding a text in the run: the collector reads the texts themselves, page by page.
import { useCallback, useEffect, useState } from "react";

import { type ApiError, get } from "../api/client";
import type { RunHit, RunHits } from "../api/types";
import type { Found, PageAction } from "./page";
import { runPath } from "./OnPage";

/** Pages with hits that are asked for by themselves; more on request. As long as there is none, all are looked through. */
const PAGES = 4;
/** Nobody has typed for so long before it is asked. */
const REST_MS = 300;

export type Find = {
  isOpen: boolean;
  open: () => void;
  close: () => void;
  look: (text: string) => void;
  error: ApiError | null;
  isLooking: boolean;
};

export function useFind(run: string, found: Found | null, dispatch: (action: PageAction) => void): Find {
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [isLooking, setLooking] = useState(false);
  const text = found?.text ?? "";
  useEffect(() => {
    setError(null);
    if (text === "") return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      setLooking(true);
      allHits(run, text, stop.signal, (hits, hasMore) => dispatch({ type: "hits", text, hits, hasMore }))
        .catch((failed: ApiError) => stop.signal.aborted || setError(failed))
        .finally(() => stop.signal.aborted || setLooking(false));
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [run, text, dispatch]);
  const open = useCallback(() => setOpen(true), []);
  const close = useCallback(() => {
    setOpen(false);
    dispatch({ type: "find", text: null });
  }, [dispatch]);
  const look = useCallback(
    (typed: string) => dispatch({ type: "find", text: typed === "" ? null : typed }),
    [dispatch],
  );
  return { isOpen, open, close, look, error, isLooking };
}

async function allHits(
  run: string,
  text: string,
  signal: AbortSignal,
  found: (hits: readonly RunHit[], hasMore: boolean) => void,
): Promise<void> {
  let hits: readonly RunHit[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES || hits.length === 0; page++) {
    const answer: RunHits = await get<RunHits>(`${runPath(run)}/search`, { q: text, limit: 200, cursor }, signal);
    hits = [...hits, ...answer.items];
    cursor = answer.next_cursor;
    if (hits.length > 0 || cursor === null) found(hits, cursor !== null);
    if (cursor === null) return;
  }
}
