// The pairs of a comparison, page after page as they are looked at.
import { useCallback, useEffect, useRef, useState } from "react";

import { ApiError, get } from "../api/client";
import type { CallPair, Comparison } from "../api/types";

const PAGE = 500;

export type Pairs = {
  /** The comparison with its first page; null until it is there. */
  data: Comparison | null;
  items: readonly CallPair[];
  error: ApiError | null;
  hasMore: boolean;
  /** Loads the next page, unless one is being loaded. */
  more: () => void;
};

/** Compares two runs. Pairs up to `wanted` are loaded at once. */
export function usePairs(a: string, b: string, wanted: number): Pairs {
  const [data, setData] = useState<Comparison | null>(null);
  const [items, setItems] = useState<readonly CallPair[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const stop = useRef<AbortController | null>(null);
  const isBusy = useRef(false);
  const load = useCallback(
    async (from: string | null) => {
      const signal = stop.current?.signal;
      if (isBusy.current || signal === undefined) return;
      isBusy.current = true;
      try {
        const path = `/runs/${encodeURIComponent(a)}/compare/${encodeURIComponent(b)}`;
        const answer = await get<Comparison>(path, { limit: PAGE, cursor: from }, signal);
        if (from === null) setData(answer);
        setItems((before) => (from === null ? answer.items : [...before, ...answer.items]));
        setCursor(answer.next_cursor);
        setError(null);
      } catch (failed) {
        if (!signal.aborted && failed instanceof ApiError) setError(failed);
      } finally {
        if (!signal.aborted) isBusy.current = false;
      }
    },
    [a, b],
  );
  useEffect(() => {
    stop.current = new AbortController();
    isBusy.current = false;
    void load(null);
    return () => stop.current?.abort();
  }, [load]);
  const more = useCallback(() => {
    if (cursor !== null || error !== null) void load(cursor);
  }, [cursor, error, load]);
  useEffect(() => {
    if (cursor !== null && wanted >= items.length) void load(cursor);
  }, [cursor, items.length, load, wanted]);
  return { data, items, error, hasMore: cursor !== null, more };
}
