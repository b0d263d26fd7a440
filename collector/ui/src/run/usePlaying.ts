import { useEffect, useEffectEvent, useState } from "react";

import type { TurnRow } from "../api/types";
import type { PageAction } from "./page";
import { turnAt } from "./turns/rows";

const WHOLE_RUN_MS = 10_000;
const SHORTEST_MS = 150;

/** Plays the turns one after the other, in ten seconds at most, from the first one where it stands at the last. The function starts and stops it. */
export function usePlaying(at: number, turns: readonly TurnRow[], dispatch: (action: PageAction) => void): () => void {
  const [isPlaying, setPlaying] = useState(false);
  const next = useEffectEvent(() => {
    const to = turns[turns.indexOf(turnAt(turns, at) as TurnRow) + 1];
    if (to === undefined) setPlaying(false);
    else dispatch({ type: "go", seq: to.seq });
  });
  const ms = Math.max(SHORTEST_MS, WHOLE_RUN_MS / Math.max(1, turns.length));
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setInterval(() => next(), ms);
    return () => clearInterval(timer);
  }, [isPlaying, ms]);
  return () => {
    const first = turns[0];
    if (!isPlaying && first !== undefined && turnAt(turns, at) === turns.at(-1))
      dispatch({ type: "go", seq: first.seq });
    setPlaying(!isPlaying);
  };
}
