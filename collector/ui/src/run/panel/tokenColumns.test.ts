import { expect, test } from "vitest";

import type { TokenPoint, TurnRow } from "../../api/types";
import { columnsOf, gridOf, heightOf, pageOf } from "./tokenColumns";

const point = (seq: number, kind: string, more: Partial<TokenPoint>): TokenPoint => ({
  ...{
    seq,
    kind,
    event: `e${seq}`,
    time: "",
    actor: "a",
    call: null,
    model: "m",
    role: null,
    added: null,
    added_basis: null,
  },
  ...{
    context: null,
    context_basis: null,
    limit: 1000,
    ratio: null,
    level: null,
    usage: {},
    cache_hit_share: null,
    cost: null,
  },
  ...more,
});
const split = { system: 10, tools: 20, history: 30, retrieved: 40, output: 5, basis: "calibrated" };
const turn = (seq: number, number: number) => ({ kind: "turn", seq, turn: number }) as unknown as TurnRow;

test("calls that overlap become columns in the order in which they began, each with its own end", () => {
  const { columns } = columnsOf(
    [
      point(1, "llm_called", { context: 100, context_basis: "reported", split }),
      point(2, "llm_called", { context: 50, actor: "b", split: null }),
      point(3, "llm_completed", { call: 2, cost: 0.2, usage: { output_tokens: 7 } }),
      point(4, "llm_completed", { call: 1, cost: 0.1, cache_hit_share: 0.5, usage: { output_tokens: 9 } }),
      point(5, "llm_called", { context: 120, split: null }),
    ],
    [turn(1, 1), turn(2, 2), turn(5, 3)],
  );
  expect(columns.map((each) => [each.turn, each.context, each.before, each.output, each.cost, each.cached])).toEqual([
    [1, 100, null, 9, 0.1, 0.5],
    [2, 50, null, 7, 0.2, null],
    [3, 120, 100, null, null, null],
  ]);
  expect(columns[0]?.parts).toEqual({ system: 10, tools: 20, results: 40, talk: 30 });
  expect([columns[0]?.isEstimated, columns[1]?.isEstimated]).toEqual([false, true]);
});

test("a call whose prompt was rendered of sections has them, any other has none", () => {
  const sections = [
    { name: "core", tokens: 6 },
    { name: "design", tokens: 3 },
  ];
  const { columns } = columnsOf(
    [
      point(1, "llm_called", { context: 100, split: { ...split, sections } }),
      point(2, "llm_called", { context: 100, split }),
    ],
    [],
  );
  expect(columns.map((each) => each.sections)).toEqual([sections, []]);
});

test("a cut stands before the first call that has the new context", () => {
  const { cuts } = columnsOf(
    [
      point(1, "llm_called", { context: 7057 }),
      point(3, "context_compressed", {}),
      point(4, "llm_called", { context: 4128 }),
    ],
    [],
  );
  expect(cuts).toEqual([{ seq: 3, column: 1, before: 7057, after: 4128, made: null }]);
});

test("a call that wrote the summary is not the call before", () => {
  const internal = { kind: "turn", seq: 2, turn: 2, internal: true } as unknown as TurnRow;
  const { columns, cuts } = columnsOf(
    [
      point(1, "llm_called", { context: 283 }),
      point(2, "llm_called", { context: 332 }),
      point(3, "context_compressed", {}),
      point(4, "llm_called", { context: 191 }),
    ],
    [turn(1, 1), internal, turn(4, 3)],
  );
  expect([columns[2]?.before, cuts[0]?.before]).toEqual([283, 283]);
});

test("the window is above a break where it is more than twice the peak", () => {
  expect(heightOf(7057, 128_000, "peak")).toEqual({ top: 7057 * 1.25, isBroken: true });
  expect(heightOf(7057, 128_000, "window").isBroken).toBe(false);
  expect(heightOf(7000, 8000, "peak")).toEqual({ top: 8640, isBroken: false });
  expect(heightOf(0, null, "peak")).toEqual({ top: 1.25, isBroken: false });
});

test("the grid has two to five round numbers", () => {
  for (const most of [3, 7, 45, 999, 1000, 8821, 160_000, 1_300_000]) {
    const grid = gridOf(most);
    expect(grid.length, String(most)).toBeGreaterThanOrEqual(2);
    expect(grid.length, String(most)).toBeLessThanOrEqual(5);
    expect(grid.at(-1)).toBeLessThan(most);
  }
});

test("the page of a turn", () => {
  const turns = Array.from({ length: 25 }, (_, n) => turn(n * 10 + 5, n + 1));
  expect(pageOf(turns, turns[3], 10)).toEqual({ first: 0, after: 4 });
  expect(pageOf(turns, turns[19], 10)).toEqual({ first: 10, after: 104 });
  expect(pageOf([], undefined, 10)).toEqual({ first: 0, after: 0 });
});
