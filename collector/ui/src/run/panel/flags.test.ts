import { expect, test } from "vitest";

import type { TurnRow } from "../../api/types";
import { flagsOf } from "./flags";

const row = (kind: TurnRow["kind"], seq: number, turn: number | null, text: string | null = null): TurnRow =>
  ({ kind, seq, turn, text, group: null, calls: [] }) as unknown as TurnRow;

test("the flag of a cut says what was cut, and leads to the turn that first saw it", () => {
  const rows = [row("turn", 4, 1), row("cut", 9, null, "7 messages summarised"), row("turn", 12, 2)];
  const { items } = flagsOf(rows, new Map(), []);
  expect(items).toEqual([
    { seq: 9, to: 12, kind: "cut", text: "cut", title: "The context was compressed: 7 messages summarised" },
  ]);
});
