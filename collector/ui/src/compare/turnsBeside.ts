// Which turns of both runs are shown beside each other at a pair of calls. Pure.
import type { CallPair, ComparedCall } from "../api/types";

/** Turns of one run that are shown at most. */
const MOST = 3;
type Side = "a" | "b";
type Sides = readonly Pick<CallPair, "a" | "b">[];

/**
 * The turns of each run at a pair. A run without a call there is shown at its next one, else at its last. Where one run
 * answered and the other called tools first, the other's turns follow up to its answer.
 */
export function turnsBeside(items: Sides, at: number): Record<Side, number[]> {
  const [a, b] = [nextCall(items, at, "a"), nextCall(items, at, "b")];
  return {
    a: followed(items, a, "a", isAnswer(call(items, b, "b"))),
    b: followed(items, b, "b", isAnswer(call(items, a, "a"))),
  };
}

/** The number of the pair with the next call of a run; of a run that made no more, its last one; null: it made none. */
function nextCall(items: Sides, at: number, side: Side): number | null {
  const next = items.findIndex((pair, n) => n >= at && pair[side] !== null);
  if (next >= 0) return next;
  const last = items.findLastIndex((pair) => pair[side] !== null);
  return last >= 0 ? last : null;
}

function followed(items: Sides, from: number | null, side: Side, isOtherAnswer: boolean): number[] {
  if (from === null) return [];
  const first = call(items, from, side)?.turn ?? null;
  if (first === null) return [];
  const turns = [first];
  if (!isOtherAnswer || isAnswer(call(items, from, side))) return turns;
  for (const pair of items.slice(from + 1)) {
    const next = pair[side];
    if (next === null || next.turn === null || next.kind !== "llm" || turns.includes(next.turn)) continue;
    turns.push(next.turn);
    if (isAnswer(next) || turns.length === MOST) break;
  }
  return turns;
}

const call = (items: Sides, n: number | null, side: Side): ComparedCall | null =>
  n === null ? null : (items[n]?.[side] ?? null);
const isAnswer = (of: ComparedCall | null): boolean => of?.did === "answered";
