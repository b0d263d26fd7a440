import { describe, expect, test } from "vitest";

import type { ShownCall, Suspects, TurnRow } from "../../api/types";
import { beside, errorsIn, listed, marksOf, targetOf, turnAt, turnBeside, turnOfSameAgent, turnsOf } from "./rows";

const BLANK = {
  ended_seq: null,
  turn: null,
  group: null,
  within: null,
  agent: null,
  model: null,
  text: null,
  to: null,
  internal: false,
  calls: [],
  status: "completed",
  raised: false,
  started_ms: 0,
  elapsed_ms: 1000,
  model_ms: null,
  first_chunk_ms: null,
  turns: null,
  input_tokens: null,
  output_tokens: null,
  cost: null,
  promise: null,
} satisfies Partial<TurnRow>;
const row = (kind: TurnRow["kind"], seq: number, more: Partial<TurnRow> = {}): TurnRow => ({
  ...BLANK,
  kind,
  seq,
  ...more,
});
const call = (seq: number, ended_seq: number, status = "completed"): ShownCall => ({
  seq,
  ended_seq,
  status,
  call_id: null,
  name: "look",
  shown: "",
  elapsed_ms: 1,
  writes: null,
});
const agent = (seq: number, group: string, within: string | null, more: Partial<TurnRow> = {}) =>
  row("agent", seq, { group, within, agent: group, ...more });

/** A review by three agents at once, of which the last raised. */
const REVIEW = [
  agent(1, "review", null, { raised: true, elapsed_ms: 10_000 }),
  agent(2, "security", "review", { started_ms: 10, elapsed_ms: 8000 }),
  row("turn", 3, { turn: 1, group: "security", ended_seq: 9 }),
  agent(4, "readability", "review", { started_ms: 20, elapsed_ms: 6000 }),
  row("turn", 5, { turn: 2, group: "readability" }),
  agent(6, "performance", "review", { started_ms: 30, elapsed_ms: 9900, raised: true }),
  row("turn", 7, { turn: 3, group: "performance", calls: [call(11, 12, "failed")] }),
  row("turn", 10, { turn: 4, group: "security" }),
];

describe("the list", () => {
  test("has each agent's turns below it, and of parallel agents the one that raised first", () => {
    expect(listed(REVIEW).map(({ row, around }) => [row.agent ?? row.turn, around])).toEqual([
      ["review", []],
      ["performance", [true]],
      [3, [true, true]],
      ["security", [true]],
      [1, [true, false]],
      [4, [true, false]],
      ["readability", [true]],
      [2, [true, false]],
    ]);
  });

  test("agents after each other keep their order", () => {
    const rows = [agent(1, "a", null, { started_ms: 0 }), agent(4, "b", null, { started_ms: 2000, raised: true })];
    expect(listed(rows).map(({ row }) => row.agent)).toEqual(["a", "b"]);
  });

  test("a single agent has no heading", () => {
    const rows = [agent(1, "a", null), row("user", 2, { group: "a" }), row("turn", 3, { turn: 1, group: "a" })];
    expect(listed(rows).map(({ row, around }) => [row.kind, around.length])).toEqual([
      ["user", 0],
      ["turn", 0],
    ]);
  });

  test("lines of agents that are not known, and circles, lose nothing and end", () => {
    const rows = [
      agent(1, "a", "b"),
      agent(2, "b", "a"),
      row("turn", 3, { turn: 1, group: "gone" }),
      agent(4, "c", null),
    ];
    expect(listed(rows).map(({ row }) => row.seq)).toContain(3);
  });
});

describe("moving", () => {
  const turns = turnsOf(REVIEW);

  test("an event belongs to the turn that it is a part of, although another began since", () => {
    expect(turnAt(turns, 12)?.turn).toBe(3);
    expect(turnAt(turns, 9)?.turn).toBe(1);
    expect(turnAt(turns, 8)?.turn).toBe(3);
    expect(turnAt(turns, 1)?.turn).toBe(1);
    expect(turnAt([], 1)).toBeUndefined();
  });

  test("to the turn beside stops at the ends", () => {
    expect(turnBeside(turns, 7, 1)?.turn).toBe(4);
    expect(turnBeside(turns, 10, 1)?.turn).toBe(4);
    expect(turnBeside(turns, 3, -1)?.turn).toBe(1);
  });

  test("to the next error and the one before", () => {
    expect(errorsIn(REVIEW)).toEqual([12]);
    expect([beside([12, 20], 12, 1), beside([12, 20], 12, -1), beside([12, 20], 13, -1)]).toEqual([20, undefined, 12]);
  });

  test("a user's message leads to the turn that saw it, an agent to its first turn", () => {
    const rows = [row("user", 1), row("turn", 2, { turn: 1 }), row("user", 5), row("turn", 6, { turn: 2 })];
    expect(targetOf(rows, rows[2] as TurnRow)).toBe(6);
    expect(targetOf(REVIEW, REVIEW[5] as TurnRow)).toBe(7);
    const cut = row("cut", 3);
    expect(targetOf([...rows, cut], cut)).toBe(6);
  });
});

test("suspects are marked, and what the first one rests on", () => {
  const finding = { rule: "r", strength: "strong", reason: "", quotes: [{ seq: 5 }] };
  const suspects = {
    items: [
      { rank: 1, turn: 3, strength: "strong", findings: [finding] },
      { rank: 2, turn: 4, strength: "weak", findings: [] },
    ],
  } as unknown as Suspects;
  expect([...marksOf(suspects, REVIEW, turnsOf(REVIEW))]).toEqual([
    [2, { rank: 1, isSuspect: false, strong: false }],
    [3, { rank: 1, isSuspect: true, strong: true }],
    [4, { rank: 2, isSuspect: true, strong: false }],
  ]);
  expect(marksOf(null, [], []).size).toBe(0);
  // What the user said stands before the turn that saw it, and behind the one before.
  const talk = [row("turn", 2, { turn: 1 }), row("user", 5), row("turn", 6, { turn: 2 }), row("turn", 9, { turn: 3 })];
  expect(marksOf(suspects, talk, turnsOf(talk)).has(1)).toBe(false);
  expect(marksOf(suspects, talk, turnsOf(talk)).get(2)?.isSuspect).toBe(false);
});

test("an event between turns of parallel agents belongs to the turn of the agent that is asked about", () => {
  const turns = turnsOf(REVIEW);
  expect(turnAt(turns, 8)?.turn).toBe(3);
  expect(turnOfSameAgent(turns, 8, 1)?.turn).toBe(1);
  expect(turnOfSameAgent(turns, 6, 3)?.turn).toBe(3); // what came before the agent's first turn
  expect(turnOfSameAgent(turns, 12, 1)?.turn).toBe(3); // that turn's call ended there
  expect(turnOfSameAgent([], 8, 1)).toBeUndefined();
});
