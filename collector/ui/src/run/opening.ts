// At which event a run opens when its address does not say. Pure.
import type { RunVerdict, Suspects, TurnRow } from "../api/types";

const LIVE: readonly string[] = ["running", "waiting"];
/** Outcomes in which a reader asks what went wrong. */
const WRONG: readonly string[] = ["failed", "crashed", "cancelled", "lost", "unknown"];

/** Whether suspected steps are looked for: of runs that ended, and not well. */
export const asksForSuspects = (verdict: RunVerdict | null): boolean =>
  verdict !== null && WRONG.includes(verdict.outcome.word);

/**
 * Its error, the innermost of the chain; else its first suspect; else an error that was handled; else its end, which a
 * run that goes on is followed from. `last` is the seq of its last event.
 */
export function openingOf(
  verdict: RunVerdict,
  suspects: Suspects | null,
  turns: readonly TurnRow[],
  last: number,
): { seq: number; follow: boolean } {
  const { word } = verdict.outcome;
  if (verdict.error !== null && !verdict.error.handled) return { seq: verdict.error.seq, follow: false };
  if (LIVE.includes(word)) return { seq: Math.max(1, last), follow: true };
  const suspect = suspects?.items[0];
  if (suspect !== undefined) return { seq: suspect.seq, follow: false };
  const handled = WRONG.includes(word) ? seqOf(turns, verdict.first_error) : undefined;
  return { seq: handled ?? seqOf(turns, verdict.last) ?? Math.max(1, last), follow: false };
}

const seqOf = (turns: readonly TurnRow[], number: number | null): number | undefined =>
  number === null ? undefined : turns.find((row) => row.turn === number)?.seq;
