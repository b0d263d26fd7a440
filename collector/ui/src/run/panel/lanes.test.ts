import { expect, test } from "vitest";

import { lanesOf, momentsOf, msOf, seqAt, workload, workOf } from "./lanes";
import { timed } from "./timedCalls.fixture";

const review = [
  timed(1, "agent", "review", 0, 10_000, { ended_seq: 40, status: "failed" }),
  timed(3, "agent", "performance", 500, 9_900, { parent: 1, agent: 1, ended_seq: 39, status: "failed" }),
  timed(5, "model", "gpt-4o", 520, 5_500, { parent: 3, agent: 3, actor: "performance", turn: 1 }),
  timed(8, "tool", "count_rows", 5_500, 5_950, { parent: 3, agent: 3, actor: "performance", turn: 1 }),
  timed(4, "agent", "security", 10, 8_500, { parent: 1, agent: 1, ended_seq: 30 }),
  timed(6, "model", "gpt-4o", 15, 5_000, { parent: 4, agent: 4, actor: "security", turn: 2 }),
  timed(20, "model", "gpt-4o", 9_000, null, { parent: 3, agent: 3, actor: "performance", turn: 3 }),
];

test("a lane for each agent, with its calls; an agent that only called others has none of its own", () => {
  const lanes = lanesOf(review, 9_950, "run");
  expect(lanes.map((lane) => [lane.name, lane.bars.map((bar) => bar.kind)])).toEqual([
    ["review", []],
    ["performance", ["model", "tool", "model"]],
    ["security", ["model"]],
  ]);
  const open = lanes[1]?.bars.at(-1);
  expect([open?.isOpen, open?.end]).toEqual([true, 9_950]);
  expect(lanes.map((lane) => lane.isFailed)).toEqual([true, true, false]);
});

test("agents of one name share a lane, but not at the same time", () => {
  const agent = (seq: number, from: number, to: number) => [
    timed(seq, "agent", "helper", from, to),
    timed(seq + 2, "model", "m", from, to, { agent: seq, actor: "helper" }),
  ];
  const one = lanesOf([...agent(1, 0, 100), ...agent(11, 200, 300)], 300, "run");
  expect(one.map((lane) => lane.bars.length)).toEqual([2]);
  const two = lanesOf([...agent(1, 0, 100), ...agent(11, 50, 300)], 300, "run");
  expect(two.map((lane) => lane.bars.length)).toEqual([1, 1]);
});

test("calls outside of any agent have the lane of their actor, else of the run", () => {
  const calls = [timed(1, "model", "m", 0, 10, { actor: "summariser" }), timed(3, "tool", "t", 10, 20)];
  expect(lanesOf(calls, 20, "airline").map((lane) => lane.name)).toEqual(["summariser", "airline"]);
});

test("a step counts as work where it made no calls itself", () => {
  const calls = [
    timed(1, "step", "node", 0, 1_000),
    timed(2, "step", "computes", 0, 600, { parent: 1 }),
    timed(4, "model", "m", 700, 900, { parent: 1 }),
  ];
  expect(workOf(calls, 1_000)).toEqual([
    { start: 0, end: 600 },
    { start: 700, end: 900 },
  ]);
});

test("events have moments, and moments events", () => {
  const moments = momentsOf([
    timed(10, "model", "m", 100, 200, { ended_seq: 14 }),
    timed(20, "tool", "t", 300, 400, { ended_seq: 21 }),
  ]);
  expect([msOf(moments, 1), msOf(moments, 10), msOf(moments, 12), msOf(moments, 14), msOf(moments, 99)]).toEqual([
    100, 100, 150, 200, 400,
  ]);
  expect([0, 100, 199, 200, 350, 9_999].map((ms) => seqAt(moments, ms))).toEqual([10, 10, 10, 14, 20, 21]);
  expect(msOf(momentsOf([]), 5)).toBe(0);
  expect(seqAt(momentsOf([]), 5)).toBe(1);
});

test("how many worked at once, and how long any did", () => {
  expect(workload(lanesOf(review, 9_950, "run"))).toEqual({ atOnce: 2, busy: 5_950 - 15 + 950 });
});
