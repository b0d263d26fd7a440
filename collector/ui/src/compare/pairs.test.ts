import { expect, test } from "vitest";

import type { ComparedCall } from "../api/types";
import { countsText, delta, nextDifference, onlyNamedIn, pairWord, sideLine } from "./pairs";

const call = (more: Partial<ComparedCall>) => ({ kind: "llm", did: "answered", turn: 1, ...more }) as ComparedCall;

test("how a pair compares is a sign and a word", () => {
  const word = (op: string, a: Partial<ComparedCall>, b: Partial<ComparedCall>, differs: string[] = []) => {
    const found = pairWord({ op, a: call(a), b: call(b), differs });
    return `${found.sign} ${found.word}`;
  };
  expect(word("same", {}, {})).toBe("= equal");
  expect(word("similar", {}, {})).toBe("≈ other words");
  expect(word("similar", { did: "called" }, { did: "called" })).toBe("≈ same call, other words");
  expect(word("changed", {}, {}, ["messages", "answer"])).toBe("≠ answer");
  expect(word("changed", { did: "called" }, {}, ["answer"])).toBe("≠ other action");
  expect(word("changed", { did: "called" }, { did: "called" }, ["answer"])).toBe("≠ other call");
  expect(word("changed", { kind: "tool" }, { kind: "tool", did: "failed" }, ["status", "error"])).toBe("≠ failed in B");
  expect(word("changed", { kind: "tool" }, { kind: "tool" }, ["arguments", "result"])).toBe("≠ arguments");
  expect(word("changed", { kind: "tool" }, { kind: "tool" }, ["result"])).toBe("≠ result");
  expect(pairWord({ op: "only_b", a: null, b: call({}), differs: [] }).word).toBe("only in B");
});

test("a side says what was called, answered, or returned", () => {
  expect(sideLine(call({ shown: "Hello" }))).toEqual({ before: "", code: null, text: "“Hello”" });
  expect(sideLine(call({ did: "called", shown: "find(Brno)" })).code).toBe("find(Brno)");
  expect(sideLine(call({ kind: "tool", did: "returned", name: "find" }))).toMatchObject({
    before: "result of ",
    code: "find",
  });
  expect(sideLine(call({ kind: "tool", did: "failed", name: "find" })).before).toBe("error of ");
  expect(sideLine(call({ kind: "tool", did: "returned", turn: null, shown: "find(1)" })).code).toBe("find(1)");
  expect(sideLine(call({ did: "failed", shown: "TimeoutError" })).before).toBe("failed ");
});

test("the next difference leaves out what is equal or says the same", () => {
  const items = ["changed", "same", "similar", "only_b"].map((op) => ({ op }));
  expect([nextDifference(items, 0, 1), nextDifference(items, 3, 1), nextDifference(items, 3, -1)]).toEqual([
    3,
    null,
    0,
  ]);
});

test("counts leave out what there is none of", () => {
  expect(countsText({ same: 3, similar: 0, changed: 12, only_a: 0, only_b: 2 })).toBe(
    "3 equal, 12 changed, 2 only in B",
  );
  expect(countsText({ same: 0, similar: 0, changed: 0, only_a: 0, only_b: 0 })).toBe("");
});

test("how much more or less the second has", () => {
  expect([delta(10, 11), delta(3, 1), delta(4, 4), delta(null, 4)]).toEqual([" (+1)", " (−2)", "", ""]);
  expect([delta(100, 112, true), delta(0, 5, true), delta(1000, 1001, true)]).toEqual([" (+12 %)", "", ""]);
});

test("what only one of two texts names", () => {
  expect(onlyNamedIn("RX110 and RX132 for €98 at 11:30.", "RX110 and RX172 for €69, 11:30")).toEqual(["RX132", "98"]);
  expect(onlyNamedIn("no figures", "1")).toEqual([]);
  expect(onlyNamedIn("see flight-ab.HAT110:2-x, or v1.", "HAT110")).toEqual(["HAT110:2-x", "v1"]);
  // Texts without spaces, such as Chinese ones, are read once: not once for each of their letters.
  const long = "字".repeat(400_000);
  expect(onlyNamedIn(`${long}7`, long)).toEqual([`${long}7`]);
  expect(onlyNamedIn(`${long}-${long}`, "")).toEqual([]);
  expect(onlyNamedIn("1. RX110 on 2026-05-24, 34", "RX110 on 2026-05-24")).toEqual(["1", "34"]);
});
