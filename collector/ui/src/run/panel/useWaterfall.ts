// The calls of a run in time: all of them once, and while the run goes on those that are new or have ended.
import { useEffect, useRef, useState } from "react";

import { type ApiError, get } from "../../api/client";
import type { TimedCall, Waterfall } from "../../api/types";
import { runPath } from "../OnPage";

const PAGE = 5_000;

/** `asOf`: when the last answer came (ms, as `performance.now()`). */
export type Calls = {
  calls: readonly TimedCall[];
  path: Waterfall["path"] | null;
  isWhole: boolean;
  asOf: number;
  error: ApiError | null;
};

const NOTHING: Calls = { calls: [], path: null, isWhole: false, asOf: 0, error: null };

/**
 * Nothing is asked until `isReady`. `news` changes when the run has grown. Once it has ended (`isOver`) all is read again: the longest path is
 * known then.
 */
export function useWaterfall(run: string, news: number, isOver: boolean, isReady: boolean): Calls {
  const [found, setFound] = useState<Calls>(NOTHING);
  const known = useRef<{ run: string; isOver: boolean; calls: readonly TimedCall[] } | null>(null);
  useEffect(() => {
    if (!isReady) return;
    const stop = new AbortController();
    const before = known.current?.run === run && known.current.isOver === isOver ? known.current.calls : [];
    const after = before.reduce((most, call) => Math.max(most, call.seq, call.ended_seq ?? 0), 0);
    const read = async () => {
      let calls = before;
      let cursor: string | null = null;
      do {
        const page: Waterfall = await get<Waterfall>(
          `${runPath(run)}/waterfall`,
          { after, limit: PAGE, cursor },
          stop.signal,
        );
        calls = withNewer(calls, page.items);
        cursor = page.next_cursor;
        if (stop.signal.aborted) return;
        if (cursor === null) known.current = { run, isOver, calls };
        setFound({ calls, path: page.path, isWhole: cursor === null, asOf: performance.now(), error: null });
      } while (cursor !== null);
    };
    read().catch((error: ApiError) => stop.signal.aborted || setFound((now) => ({ ...now, error })));
    return () => stop.abort();
  }, [run, news, isOver, isReady]);
  return found;
}

/** The calls, with newer answers in the place of the same ones; in the order of their seqs. */
export function withNewer(known: readonly TimedCall[], newer: readonly TimedCall[]): readonly TimedCall[] {
  if (newer.length === 0) return known;
  const last = known.at(-1)?.seq ?? 0;
  if ((newer[0]?.seq ?? 0) > last) return [...known, ...newer];
  const bySeq = new Map([...known, ...newer].map((call) => [call.seq, call]));
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}
