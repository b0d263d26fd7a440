// The lines of a run: the first page is there at once, the others follow; those of a run that goes on are asked for again.
import { useEffect, useRef, useState } from "react";

import { type ApiError, get } from "../api/client";
import type { Page, TurnRow } from "../api/types";
import { withNewer } from "./turns/newer";

const FIRST_PAGE = 200;
/** The most that the API answers at once. */
const PAGE = 1000;
/** After news, the lines are asked for so much later: what comes together is asked for once. */
const REST_MS = 300;

export type Turns = { rows: readonly TurnRow[]; isWhole: boolean; error: ApiError | null };

const NONE: Turns = { rows: [], isWhole: false, error: null };

/** `news` changes whenever the run has grown, or something of it arrived late. `again` counts how often a reader asked once more. */
export function useTurns(run: string, news: number, again: number): Turns {
  const [turns, setTurns] = useState<Turns>(NONE);
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
  }, [run, again]);
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
