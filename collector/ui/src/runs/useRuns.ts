// The runs that meet the conditions: pages one after the other as they are scrolled to, and rows that change while they are shown.
import { useCallback, useEffect, useRef, useState } from "react";

import { ApiError, get, type Params } from "../api/client";
import type { Page, RunDetail, RunSummary } from "../api/types";
import { whenItMayPass } from "../api/useApi";

const PAGE = 100;
/** News of one run within this time are one question. */
const CALM_MS = 400;

type Loaded = { key: string | null; rows: readonly RunSummary[]; cursor: string | null; error: ApiError | null };
const NOTHING: Loaded = { key: null, rows: [], cursor: null, error: null };

export type Runs = {
  rows: readonly RunSummary[];
  /** Whether there are more than are loaded. */
  hasMore: boolean;
  error: ApiError | null;
  /** What is shown belongs to other conditions. */
  isStale: boolean;
  isEmpty: boolean;
  /** Loads the next page; nothing happens while one is loaded. */
  loadMore: () => void;
  /** Asks for everything again, from the top. */
  reload: () => void;
  /** Asks for one run again, which is shown. */
  refresh: (run: string) => void;
};

export function useRuns(params: Params): Runs {
  const [turn, setTurn] = useState(0);
  const key = `${turn} ${JSON.stringify(params)}`;
  const [loaded, setLoaded] = useState<Loaded>(NOTHING);
  const isLoading = useRef(false);
  const reload = useCallback(() => setTurn((n) => n + 1), []);

  useEffect(() => {
    const stop = new AbortController();
    isLoading.current = true;
    const asked = JSON.parse(key.slice(key.indexOf(" ") + 1)) as Params;
    get<Page<RunSummary>>("/runs", { ...asked, limit: PAGE }, stop.signal).then(
      (page) => {
        isLoading.current = false;
        setLoaded({ key, rows: page.items, cursor: page.next_cursor, error: null });
      },
      (error: ApiError) => {
        if (stop.signal.aborted) return;
        isLoading.current = false;
        setLoaded((before) => ({ ...before, key, error }));
      },
    );
    return () => stop.abort();
  }, [key]);

  const { error, cursor } = loaded;
  useEffect(() => (error === null ? undefined : whenItMayPass(error, reload)), [error, reload]);

  const loadMore = useCallback(() => {
    if (isLoading.current || cursor === null || loaded.key !== key) return;
    isLoading.current = true;
    const asked = JSON.parse(key.slice(key.indexOf(" ") + 1)) as Params;
    get<Page<RunSummary>>("/runs", { ...asked, limit: PAGE, cursor })
      .then(
        (page) =>
          setLoaded((before) =>
            before.key === key
              ? { ...before, rows: withPage(before.rows, page.items), cursor: page.next_cursor }
              : before,
          ),
        (failed: ApiError) => setLoaded((before) => ({ ...before, error: failed })),
      )
      .finally(() => (isLoading.current = false));
  }, [cursor, key, loaded.key]);

  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>());
  useEffect(() => {
    const all = timers.current;
    return () => all.forEach(clearTimeout);
  }, []);
  const refresh = useCallback((run: string) => {
    if (timers.current.has(run)) return;
    const ask = () => {
      timers.current.delete(run);
      get<RunDetail>(`/runs/${run}`).then(
        (now) => setLoaded((before) => ({ ...before, rows: before.rows.map((row) => (row.run === run ? now : row)) })),
        () => undefined, // the row stays as it was; the next news ask again
      );
    };
    timers.current.set(run, setTimeout(ask, CALM_MS));
  }, []);

  const isStale = loaded.key !== key;
  return {
    rows: loaded.rows,
    hasMore: cursor !== null,
    error,
    isStale,
    isEmpty: !isStale && error === null && loaded.rows.length === 0,
    loadMore,
    reload,
    refresh,
  };
}

/** Rows with those of the next page; a run that moved between two pages is shown once. */
export function withPage(rows: readonly RunSummary[], page: readonly RunSummary[]): RunSummary[] {
  const known = new Set(rows.map((row) => row.run));
  return [...rows, ...page.filter((row) => !known.has(row.run))];
}
