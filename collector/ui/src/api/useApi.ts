// Asks the API from a component: what was answered, what went wrong, and whether the answer is still awaited.
import { useEffect, useState } from "react";

import { type ApiError, get, type Params } from "./client";

/** `data` stays what it was while a newer answer is awaited (`isStale`), so that panels do not flicker. */
export type Asked<T> = { data: T | null; error: ApiError | null; isStale: boolean };

const kept = new Map<string, unknown>();
const KEPT = 200;

/**
 * The answer at this path; nothing is asked while `path` is null. Answers about a fixed event are kept (`keep`). Whoever
 * counts `turn` up asks the same again.
 */
export function useApi<T>(path: string | null, params: Params = {}, keep = false, turn = 0): Asked<T> {
  const key = path === null ? null : `${turn} ${path}?${JSON.stringify(params)}`;
  const [asked, setAsked] = useState<Asked<T> & { key: string | null }>({ data: null, error: null, isStale: true, key: null });
  useEffect(() => {
    if (path === null || key === null) {
      setAsked({ data: null, error: null, isStale: false, key });
      return;
    }
    if (kept.has(key)) {
      setAsked({ data: kept.get(key) as T, error: null, isStale: false, key });
      return;
    }
    const stop = new AbortController();
    setAsked((before) => ({ ...before, isStale: true }));
    get<T>(path, params, stop.signal).then(
      (data) => {
        if (keep) remember(key, data);
        setAsked({ data, error: null, isStale: false, key });
      },
      (error: ApiError) => {
        if (!stop.signal.aborted) setAsked({ data: null, error, isStale: false, key });
      },
    );
    return () => stop.abort();
    // `key` says all that `path` and `params` do.
  }, [key, keep]);
  return asked;
}

function remember(key: string, data: unknown): void {
  kept.set(key, data);
  const oldest = kept.keys().next();
  if (kept.size > KEPT && !oldest.done) kept.delete(oldest.value);
}
