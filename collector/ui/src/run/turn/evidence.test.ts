import { expect, test } from "vitest";

import type { ComparedValue, RunTurn, Suspect } from "../../api/types";
import { findingsOfAnswer, findingsOfCalls, hasText, markedInAnswer, shortNames, shownValues } from "./evidence";

const finding = (rule: string, quotes: { ref: string | null; text: string }[] = []) => ({
  rule,
  strength: "strong",
  reason: rule,
  quotes,
  values: [] as object[],
  precision: null,
});
const suspect = (...findings: object[]) => ({ findings }) as unknown as Suspect;
const turn = (calls: number, answer: object | null) =>
  ({ calls: Array.from({ length: calls }), answer }) as unknown as RunTurn;
const SAID = { parts: [{ type: "text", content: "The cheapest is $295." }] };

test("what a finding quotes of the answer is marked there, and nothing of other contents", () => {
  const found = suspect(
    finding("not_the_least", [
      { ref: "a", text: "$295" },
      { ref: "b", text: "207" },
      { ref: "a", text: "x".repeat(400) },
    ]),
  );
  expect(markedInAnswer(found, "a")).toEqual(["$295"]);
  expect(markedInAnswer(undefined, "a")).toEqual([]);
});

test("findings stand beside the answer, those about calls beside the calls, each once", () => {
  const found = suspect(finding("not_the_least"), finding("value_from_nowhere"));
  const both = turn(1, SAID);
  expect(findingsOfAnswer(both, found).map((each) => each.rule)).toEqual(["not_the_least"]);
  expect(findingsOfCalls(both, found).map((each) => each.rule)).toEqual(["value_from_nowhere"]);
  expect(findingsOfAnswer(turn(0, SAID), found)).toHaveLength(2);
  expect(findingsOfCalls(turn(1, null), found)).toHaveLength(2);
});

test("an answer that only asks for tools says nothing", () => {
  expect(hasText(SAID)).toBe(true);
  expect(
    hasText({
      parts: [
        { type: "tool_call", name: "look" },
        { type: "text", content: "" },
      ],
    }),
  ).toBe(false);
  expect(hasText({})).toBe(false);
});

test("values that are compared are marked in the answer where it says them", () => {
  const compared = {
    ...finding("not_the_least"),
    values: [{ quotes: [{ ref: "a", text: "98" }] }, { quotes: [{ ref: "b", text: "69" }] }],
  };
  expect(markedInAnswer(suspect(compared), "a")).toEqual(["98"]);
});

test("of many other entries, the table says how many it leaves out", () => {
  const value = (mark: string, value: string) => ({ mark, value, quotes: [] }) as unknown as ComparedValue;
  const values = [
    value("least", "69"),
    value("other", "87"),
    value("other", "90"),
    value("other", "95"),
    value("said", "98"),
  ];
  expect(shownValues(values, false)).toEqual([values[0], values[1], { hidden: 2 }, values[4]]);
  expect(shownValues(values, true)).toEqual(values);
  expect(shownValues(values.slice(0, 3), false)).toHaveLength(3);
});

test("a table names entries by what tells them apart", () => {
  const value = (entry: string | null, path: string | null = null) => ({ entry, path }) as ComparedValue;
  const names = (...values: ComparedValue[]) => [...shortNames(values).values()];
  expect(names(value("RX110, 2026-05-24, RX172"), value("RX110, 2026-05-24, RX132"))).toEqual(["RX172", "RX132"]);
  expect(names(value("RX110, RX172"))).toEqual(["RX110, RX172"]);
  expect(names(value("A, B"), value("A, B"), value(null, "fare"))).toEqual(["A, B", "A, B", "fare"]);
});
