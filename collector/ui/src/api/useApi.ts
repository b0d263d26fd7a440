// Asks the API from a component: what was answered, what went wrong, and whether the answer is still awaited.
import { useEffect, useEffectEvent, useState } from "react";

import { type ApiError, get, type Params } from "./client";
import { whenUp } from "./connection";

/**
 * `data` stays what it was while a newer answer is awaited (`isStale`), so that panels do not flicker. `again` asks the
 * same again; after an error that can pass, that happens by itself (see `isPassing`).
 */
export type Asked<T> = { data: T | null; error: ApiError | null; isStale: boolean; again: () => void };

/** Whether an error can go away without another question: nothing answered, the session expired, or the server had one. */
const isPassing = (error: ApiError): boolean =>
  error.status === 0 || error.status === 401 || error.status === 429 || error.status >= 500;

/** With these, the collector answers and says itself that it can do it later: Postgres is away, or too many ask. */
const LATER: readonly number[] = [429, 503];
const LATER_MS = 5_000;

/**
 * Calls `again` whenever the error may have passed (see `isPassing`), in a page that is looked at. Returns what takes it
 * back.
 */
export function whenItMayPass(error: ApiError, again: () => void): () => void {
  if (!isPassing(error)) return () => undefined;
  const takeBack = whenUp(again);
  const look = () => document.visibilityState === "visible" && again();
  document.addEventListener("visibilitychange", look);
  const timer = LATER.includes(error.status) ? setTimeout(look, LATER_MS) : undefined;
  return () => {
    takeBack();
    document.removeEventListener("visibilitychange", look);
    clearTimeout(timer);
  };
}

const kept = new Map<string, unknown>();
const KEPT = 200;

/**
 * The answer at this path; nothing is asked while `path` is null. Answers about a fixed event are kept (`keep`). Whoever
 * counts `turn` up asks the same again.
 */
export function useApi<T>(path: string | null, params: Params = {}, keep = false, turn = 0): Asked<T> {
  const [tries, setTries] = useState(0);
  const key = path === null ? null : `${turn} ${path}?${JSON.stringify(params)}`;
  const [asked, setAsked] = useState<Pick<Asked<T>, "data" | "error"> & { key: string | null | undefined }>({
    data: null,
    error: null,
    key: undefined,
  });
  // `key` says all that `path` and `params` do.
  const ask = useEffectEvent((signal: AbortSignal) => get<T>(path ?? "", params, signal));
  useEffect(() => {
    if (key === null) {
      setAsked({ data: null, error: null, key });
      return;
    }
    if (kept.has(key)) {
      setAsked({ data: kept.get(key) as T, error: null, key });
      return;
    }
    const stop = new AbortController();
    ask(stop.signal).then(
      (data) => {
        if (keep) remember(key, data);
        setAsked({ data, error: null, key });
      },
      (error: ApiError) => {
        if (!stop.signal.aborted) setAsked({ data: null, error, key });
      },
    );
    return () => stop.abort();
  }, [key, keep, tries]);
  const again = useEffectEvent(() => setTries((n) => n + 1));
  const { error } = asked;
  useEffect(() => (error === null ? undefined : whenItMayPass(error, () => again())), [error]);
  return { data: asked.data, error, isStale: asked.key !== key, again: () => setTries((n) => n + 1) };
}

function remember(key: string, data: unknown): void {
  kept.set(key, data);
  const oldest = kept.keys().next();
  if (kept.size > KEPT && !oldest.done) kept.delete(oldest.value);
}
