// The lines of a run: the first page and those around the event that the page is about are there at once, the others follow;
// those of a run that goes on are asked for again.
import { useEffect, useMemo, useRef, useState } from "react";

import { type ApiError, get } from "../api/client";
import type { Page, TurnRow } from "../api/types";
import { EVENTS_BEFORE, holds, joined, LINES, type Part } from "./turns/near";
import { withNewer } from "./turns/newer";

const FIRST_PAGE = 200;
/** The most that the API answers at once. */
const PAGE = 1000;
/** After news, the lines are asked for so much later: what comes together is asked for once. */
const REST_MS = 300;

/** The page moves for so long before the lines around it are asked for. */
const MOVED_MS = 60;
/** Between two pages, what is in view is asked for: the collector answers one question after the other. */
const PAUSE_MS = 500;

/** `isKnown`: the lines around the event that the page is about are loaded. */
export type Turns = Lines & { isKnown: boolean };
type Lines = { rows: readonly TurnRow[]; isWhole: boolean; error: ApiError | null };

const NONE: Lines = { rows: [], isWhole: false, error: null };

/** `at`: the event that the page is about; 0: none yet. `news` changes whenever the run has grown, or something of it arrived late. */
export function useTurns(run: string, at: number, news: number): Turns {
  const lines = useLines(run, news);
  const start = useMemo<Part>(
    () => ({ rows: lines.rows, from: 0, to: lines.isWhole ? Infinity : (lines.rows.at(-1)?.seq ?? -1) }),
    [lines],
  );
  const near = useNear(run, at, start);
  const rows = useMemo(() => joined(start, near), [start, near]);
  return { ...lines, rows, isKnown: at > 0 && holds([start, near], at) };
}

/** The lines around an event that those of the beginning do not reach. */
function useNear(run: string, at: number, start: Part): Part | null {
  const [near, setNear] = useState<Part | null>(null);
  const isNeeded = at > 0 && !holds([start, near], at);
  // What stands near the beginning comes with the first page.
  const comes = at <= EVENTS_BEFORE && start.rows.length === 0;
  useEffect(() => {
    if (!isNeeded || comes) return;
    const stop = new AbortController();
    const after = Math.max(0, at - EVENTS_BEFORE);
    const timer = setTimeout(() => {
      get<Page<TurnRow>>(`/runs/${encodeURIComponent(run)}/turns`, { after, limit: LINES }, stop.signal).then(
        ({ items, next_cursor: next }) =>
          setNear({ rows: items, from: after + 1, to: next === null ? Infinity : (items.at(-1)?.seq ?? after) }),
        () => undefined, // the pages that follow bring them, or say what is wrong
      );
    }, MOVED_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [run, at, isNeeded, comes]);
  return near;
}

function useLines(run: string, news: number): Lines {
  const [turns, setTurns] = useState<Lines>(NONE);
  const latest = useRef(turns);
  useEffect(() => {
    latest.current = turns;
  }, [turns]);
  useEffect(() => {
    const stop = new AbortController();
    readFrom(run, 0, FIRST_PAGE, stop.signal, (rows, isWhole) => setTurns({ rows, isWhole, error: null })).catch(
      (error: ApiError) => stop.signal.aborted || setTurns((before) => ({ ...before, error })),
    );
    return () => stop.abort();
  }, [run]);
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) return void (isFirst.current = false);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const known = latest.current;
      if (!known.isWhole) return;
      const from = unsettledFrom(known.rows);
      readFrom(run, from, PAGE, stop.signal, (rows, isWhole) => {
        if (isWhole) setTurns({ rows: withNewer(known.rows, rows, from), isWhole, error: null });
      }).catch(() => undefined); // what is shown stays; the stream's own notice says that it is not live
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [run, news]);
  return turns;
}

/** The seq behind which lines may still change: before the first that is under way. Short runs are read whole. */
function unsettledFrom(rows: readonly TurnRow[]): number {
  if (rows.length < PAGE) return 0;
  const open = rows.find((row) => row.kind !== "agent" && row.status === "open") ?? rows.at(-1);
  return Math.max(0, (open?.seq ?? 1) - 1);
}

/** Reads all pages behind `after`; hands out what is there after each of them. */
async function readFrom(
  run: string,
  after: number,
  first: number,
  signal: AbortSignal,
  found: (rows: readonly TurnRow[], isWhole: boolean) => void,
): Promise<void> {
  let rows: readonly TurnRow[] = [];
  let cursor: string | null = null;
  do {
    if (cursor !== null) await new Promise((go) => setTimeout(go, PAUSE_MS));
    if (signal.aborted) return;
    const page: Page<TurnRow> = await get<Page<TurnRow>>(
      `/runs/${encodeURIComponent(run)}/turns`,
      { after, limit: rows.length === 0 ? first : PAGE, cursor },
      signal,
    );
    rows = [...rows, ...page.items];
    cursor = page.items.length === 0 ? null : page.next_cursor;
    if (signal.aborted) return;
    found(rows, cursor === null);
  } while (cursor !== null);
}
