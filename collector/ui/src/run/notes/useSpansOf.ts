import { useMemo } from "react";

import type { Page, RecordedEvent, RunTurn } from "../../api/types";
import { useApi } from "../../api/useApi";
import { runPath, useOnPage } from "../OnPage";

const EVENTS = 50;

/** The spans of the turn's calls, by which scores name them: those of its events, of which other agents' stand between. */
export function useSpansOf(turn: RunTurn): ReadonlySet<string> {
  const { run } = useOnPage();
  const { data } = useApi<Page<RecordedEvent>>(
    `${runPath(run.run)}/events`,
    { after: turn.seq - 1, limit: Math.min(EVENTS, turn.last_seq - turn.seq + 1) },
    turn.ended_seq !== null,
  );
  return useMemo(() => {
    const ends = new Set([turn.seq, turn.ended_seq, ...turn.calls.flatMap((call) => [call.seq, call.ended_seq])]);
    const mine = (data?.items ?? []).filter((event) => ends.has(event.seq));
    return new Set(mine.flatMap((event) => (event.span === null ? [] : [event.span])));
  }, [data, turn]);
}
