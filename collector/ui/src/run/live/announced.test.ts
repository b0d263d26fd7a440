import { expect, test } from "vitest";

import type { TurnRow } from "../../api/types";
import { announced } from "./announced";

const row = (seq: number, status: string, more: Partial<TurnRow> = {}): TurnRow =>
  ({ kind: "turn", seq, turn: seq, status, calls: [], raised: false, agent: null, ...more }) as unknown as TurnRow;

test("turns that ended are said once, those under way are not", () => {
  const before = [row(1, "completed"), row(2, "open")];
  const after = [row(1, "completed"), row(2, "completed"), row(3, "open"), row(4, "failed")];
  expect(announced(before, after)).toEqual(["Turn 2 ended", "Turn 4 failed"]);
  expect(announced(after, after)).toEqual([]);
});

test("a tool that failed and an agent that raised are said", () => {
  const tool = row(5, "completed", { calls: [{ status: "failed" }] as unknown as TurnRow["calls"] });
  const agent = row(6, "failed", { kind: "agent", agent: "performance", raised: true });
  expect(announced([], [tool, agent, row(7, "completed", { kind: "user" })])).toEqual([
    "Turn 5: a tool failed",
    "performance raised an error",
  ]);
});
