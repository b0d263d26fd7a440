import { expect, test } from "vitest";

import type { Suspects, TurnRow } from "../api/types";
import { targetOfKey, type Where } from "./keys";

const turn = (turn: number, seq: number, failed?: number): TurnRow =>
  ({
    kind: "turn",
    turn,
    seq,
    ended_seq: seq + 1,
    group: null,
    status: "completed",
    calls: failed === undefined ? [] : [{ seq: failed - 1, ended_seq: failed, status: "failed" }],
  }) as unknown as TurnRow;
const turns = [turn(1, 3), turn(2, 8, 12), turn(3, 20)];
const cut = { kind: "cut", seq: 18, group: null, calls: [] } as unknown as TurnRow;
const rows = [turns[0], turns[1], cut, turns[2]] as TurnRow[];
const suspects = { items: [{ seq: 21 }, { seq: 4 }] } as unknown as Suspects;
const where = (at: number): Where => ({ at, rows, turns, suspects, last: 25 });

test.each([
  ["ArrowRight", false, 3, 8],
  ["ArrowLeft", false, 12, 3],
  ["ArrowRight", true, 12, 13],
  ["ArrowLeft", true, 1, 1],
  ["ArrowRight", true, 25, 25],
  ["Home", false, 12, 3],
  ["e", false, 3, 12],
  ["E", true, 20, 12],
  ["e", false, 20, null],
  ["s", false, 4, 21],
  ["S", true, 21, 4],
  ["c", false, 3, 20],
  ["j", false, 3, 8],
  ["k", false, 3, null],
  ["q", false, 3, null],
])("%s (shift: %s) at %i goes to %s", (key, isShifted, at, to) => {
  expect(targetOfKey(key, isShifted, where(at))).toBe(to);
});
