import { expect, test } from "vitest";

import { timed } from "./timedCalls.fixture";
import { rowAt, waterfallRows } from "./waterfallRows";

const calls = [
  timed(1, "agent", "review", 0, 10_000, { ended_seq: 50, status: "failed" }),
  timed(2, "agent", "security", 0, 8_500, { parent: 1, ended_seq: 40, on_path: false, lost: true }),
  timed(3, "agent", "performance", 500, 9_900, { parent: 1, ended_seq: 49, status: "failed" }),
  timed(4, "model", "gpt", 0, 5_000, { parent: 2, ended_seq: 9, on_path: false }),
  timed(6, "model", "gpt", 500, 5_500, { parent: 3, ended_seq: 10 }),
  timed(11, "tool", "count_rows", 5_500, 5_900, { parent: 3, ended_seq: 12 }),
];
const names = (rows: ReturnType<typeof waterfallRows>) => rows.map(({ call, depth }) => `${depth} ${call.name}`);

test("each call is below the one that made it, and the agent that raised comes first", () => {
  expect(names(waterfallRows(calls, "all", new Set()))).toEqual([
    "0 review",
    "1 performance",
    "2 gpt",
    "2 count_rows",
    "1 security",
    "2 gpt",
  ]);
});

test("only the longest path, or what took more than a second", () => {
  expect(names(waterfallRows(calls, "path", new Set()))).toEqual([
    "0 review",
    "1 performance",
    "2 gpt",
    "2 count_rows",
  ]);
  expect(names(waterfallRows(calls, "long", new Set()))).not.toContain("2 count_rows");
});

test("what is below a call that is left out stands below the next one around it", () => {
  const within = [
    timed(1, "agent", "a", 0, 5_000),
    timed(2, "step", "s", 0, 500, { parent: 1 }),
    timed(3, "tool", "t", 0, null, { parent: 2 }),
  ];
  expect(names(waterfallRows(within, "long", new Set()))).toEqual(["0 a", "1 t"]);
});

test("a collapsed row says how many are below it", () => {
  const rows = waterfallRows(calls, "all", new Set([3]));
  expect(names(rows)).toEqual(["0 review", "1 performance", "1 security", "2 gpt"]);
  expect(rows[1]?.hidden).toBe(2);
});

test("the row of an event", () => {
  const rows = waterfallRows(calls, "all", new Set());
  expect([1, 10, 11, 8, 45].map((at) => rows[rowAt(rows, at)]?.call.seq)).toEqual([1, 6, 11, 6, 11]);
  expect(rowAt([], 3)).toBe(-1);
});
