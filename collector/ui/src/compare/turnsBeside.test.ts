import { expect, test } from "vitest";

import type { ComparedCall } from "../api/types";
import { turnsBeside } from "./turnsBeside";

const model = (turn: number, did: "called" | "answered") => ({ kind: "llm", turn, did }) as ComparedCall;
const tool = (turn: number | null) => ({ kind: "tool", turn, did: "returned" }) as ComparedCall;

test("where one run answered, the turns of the other follow up to its answer", () => {
  const items = [
    { a: null, b: model(7, "called") },
    { a: null, b: tool(7) },
    { a: model(7, "answered"), b: model(8, "answered") },
    { a: model(8, "called"), b: model(9, "called") },
  ];
  expect(turnsBeside(items, 0)).toEqual({ a: [7], b: [7, 8] });
  expect(turnsBeside(items, 2)).toEqual({ a: [7], b: [8] });
  expect(turnsBeside(items, 3)).toEqual({ a: [8], b: [9] });
});

test("a run that made no more calls is shown at its last, one without turns not at all", () => {
  const items = [
    { a: model(1, "answered"), b: tool(null) },
    { a: null, b: model(1, "called") },
  ];
  expect(turnsBeside(items, 1)).toEqual({ a: [1], b: [1] });
  expect(turnsBeside([{ a: tool(null), b: null }], 0)).toEqual({ a: [], b: [] });
});
