import { expect, test } from "vitest";

import type { TurnRow } from "../../api/types";
import { clock, placeOf, talkOf } from "./talk";

const row = (kind: TurnRow["kind"], seq: number, more: Partial<TurnRow> = {}): TurnRow =>
  ({
    kind,
    seq,
    to: null,
    internal: false,
    calls: [],
    started_ms: seq * 1000,
    elapsed_ms: 1000,
    turn: null,
    ...more,
  }) as unknown as TurnRow;
const call = (name: string) =>
  ({ name, seq: 1, ended_seq: 2, status: "completed", shown: "" }) as TurnRow["calls"][number];

const rows = [
  row("user", 1),
  row("turn", 2, { turn: 1, calls: [call("look")] }),
  row("turn", 4, { turn: 2, calls: [call("think")] }),
  row("turn", 6, { turn: 3, to: "user" }),
  row("turn", 8, { turn: 4, internal: true, to: "user" }),
  row("cut", 9),
  row("user", 10),
  row("turn", 11, { turn: 5, to: "user", calls: [call("book")] }),
];

test("tool work between two utterances is one item; what nobody saw is left out", () => {
  const talk = talkOf(rows);
  expect(talk.map((each) => each.kind)).toEqual(["user", "work", "answer", "cut", "user", "answer", "work"]);
  const work = talk[1];
  expect(work?.kind === "work" && [work.calls.map(({ call, turn }) => [call.name, turn]), work.ms]).toEqual([
    [
      ["look", 1],
      ["think", 2],
    ],
    3000,
  ]);
});

test("the last answer counts, although nobody replied to it", () => {
  const end = row("turn", 20, { turn: 6 });
  expect(talkOf([...rows, end]).filter((each) => each.kind === "answer")).toHaveLength(2);
  expect(talkOf([...rows, end], end).filter((each) => each.kind === "answer")).toHaveLength(3);
});

test("a turn is found in what it said, or in the work", () => {
  const talk = talkOf(rows);
  expect(placeOf(talk, rows[2])).toBe(1);
  expect(placeOf(talk, rows[3])).toBe(2);
  expect(placeOf(talk, rows[4])).toBe(-1);
  expect(placeOf(talk, undefined)).toBe(-1);
});

test.each([
  [4200, "0:04"],
  [90_000, "1:30"],
  [3_725_000, "1:02:05"],
])("%i ms are %s", (ms, text) => {
  expect(clock(ms)).toBe(text);
});
