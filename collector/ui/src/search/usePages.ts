// Pages of what was found, one after another, as they are asked for.
import { useCallback, useEffect, useRef, useState } from "react";

import { ApiError, get, type Params } from "../api/client";

type Answer<T> = { items: T[]; next_cursor: string | null; unindexed: number };
export type Found<T> = {
  items: readonly T[];
  unindexed: number;
  hasMore: boolean;
  isBusy: boolean;
  error: ApiError | null;
  more: () => void;
};

/** Enough to fill the page; an answer may have fewer items than its limit, even none, although more follow. */
const ENOUGH = 50;
/** Answers that are asked for in a row to find enough; then the reader decides whether to look on. */
const ANSWERS = 5;

/** Searches again when `params` change; nothing is asked while `path` is null. */
export function usePages<T>(path: string | null, params: Params): Found<T> {
  const [state, setState] = useState<Omit<Found<T>, "more"> & { cursor: string | null }>({
    items: [],
    unindexed: 0,
    hasMore: false,
    isBusy: path !== null,
    error: null,
    cursor: null,
  });
  const stop = useRef(new AbortController());
  const key = `${path} ${JSON.stringify(params)}`;
  const read = useCallback(
    async (from: string | null, before: readonly T[]) => {
      const signal = stop.current.signal;
      if (path === null) return;
      let items = before;
      let cursor = from;
      setState((now) => ({ ...now, isBusy: true, error: null }));
      try {
        for (let n = 0; n < ANSWERS; n++) {
          const answer: Answer<T> = await get(path, { ...params, limit: ENOUGH, cursor }, signal);
          items = [...items, ...answer.items];
          cursor = answer.next_cursor;
          const isDone = cursor === null || items.length - before.length >= ENOUGH || n === ANSWERS - 1;
          setState({
            items,
            unindexed: answer.unindexed,
            hasMore: cursor !== null,
            isBusy: !isDone,
            error: null,
            cursor,
          });
          if (isDone) return;
        }
      } catch (error) {
        if (!signal.aborted && error instanceof ApiError) setState((now) => ({ ...now, isBusy: false, error }));
      }
    },
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `key` says all that `path` and `params` do
    [key],
  );
  useEffect(() => {
    stop.current = new AbortController();
    setState({ items: [], unindexed: 0, hasMore: false, isBusy: path !== null, error: null, cursor: null });
    void read(null, []);
    return () => stop.current.abort();
  }, [path, read]);
  return { ...state, more: useCallback(() => void read(state.cursor, state.items), [read, state.cursor, state.items]) };
}
