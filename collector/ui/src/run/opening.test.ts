import { expect, test } from "vitest";

import type { RunVerdict, Suspects, TurnRow } from "../api/types";
import { asksForSuspects, openingOf } from "./opening";

const verdict = (word: string, more: object = {}) =>
  ({ outcome: { word, because: "" }, error: null, first_error: null, last: null, ...more }) as unknown as RunVerdict;
const suspects = { items: [{ rank: 1, seq: 41 }] } as unknown as Suspects;
const turns = [
  { kind: "turn", turn: 1, seq: 3 },
  { kind: "turn", turn: 2, seq: 9 },
] as TurnRow[];

test.each([
  ["its error comes before its suspect", verdict("crashed", { error: { seq: 32, handled: false } }), suspects, 32],
  ["the first suspect of a failed run", verdict("failed", { first_error: 1 }), suspects, 41],
  ["a handled error where nothing is suspected", verdict("failed", { first_error: 1, last: 2 }), null, 3],
  ["not a handled error of a run that succeeded", verdict("succeeded", { first_error: 1, last: 2 }), null, 9],
  ["the end where nothing is known", verdict("unknown"), null, 50],
])("%s", (_, said, suspected, seq) => {
  expect(openingOf(said, suspected, turns, 50)).toEqual({ seq, follow: false });
});

test.each(["running", "waiting"])("a run that is %s opens at its end, and is followed", (word) => {
  expect(openingOf(verdict(word, { first_error: 1, last: 2 }), null, turns, 50)).toEqual({ seq: 50, follow: true });
});

test("suspects are looked for where something went wrong, or nobody knows", () => {
  const words = ["succeeded", "failed", "crashed", "cancelled", "lost", "waiting", "running", "unknown"];
  expect(words.filter((word) => asksForSuspects(verdict(word)))).toEqual([
    "failed",
    "crashed",
    "cancelled",
    "lost",
    "unknown",
  ]);
});
