import { expect, test } from "vitest";

import type { TurnRow } from "../../api/types";
import { agentRows } from "./agentRows";
import { timed } from "./timedCalls.fixture";

const line = (turn: number, input: number | null, cost: number | null): TurnRow =>
  ({ kind: "turn", turn, input_tokens: input, output_tokens: 5, cost, calls: [] }) as unknown as TurnRow;

const calls = [
  timed(1, "agent", "review", 0, 1_000, { status: "failed" }),
  timed(2, "agent", "helper", 0, 400, { parent: 1, agent: 1, lost: true, on_path: false }),
  timed(3, "model", "m", 0, 300, { agent: 2, actor: "helper", turn: 1, on_path: false }),
  timed(5, "agent", "helper", 400, 900, { parent: 1, agent: 1, status: "failed" }),
  timed(6, "model", "m", 400, 500, { agent: 5, actor: "helper", turn: 2 }),
  timed(8, "tool", "t", 450, 700, { agent: 5, actor: "helper", status: "failed", turn: 2 }),
  timed(10, "model", "m", 700, 800, { agent: 5, actor: "summariser", turn: 3 }),
];

test("what each agent did, those of one name together", () => {
  const rows = agentRows(calls, [line(1, 100, 0.5), line(2, 200, null), line(3, null, null)], 1_000, "run");
  expect(rows.map((row) => [row.name, row.calledBy, row.depth, row.times, row.turns, row.tools, row.errors])).toEqual([
    ["review", null, 0, 1, 0, 0, 0],
    ["helper", "review", 1, 2, 2, 1, 1],
    ["summariser", "helper", 2, 0, 1, 0, 0],
  ]);
  const helper = rows[1];
  expect([helper?.took, helper?.model, helper?.tool]).toEqual([900, 400, 250]);
  expect([helper?.input, helper?.output, helper?.cost, helper?.status, helper?.lost]).toEqual([
    300,
    10,
    0.5,
    "failed",
    true,
  ]);
  expect(rows[2]?.took).toBe(100);
});
