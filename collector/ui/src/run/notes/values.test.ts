import { expect, test } from "vitest";

import { readScore } from "./values";

test.each([
  ["1", 1],
  ["0.5", 0.5],
  ["0,5", 0.5],
  ["Yes", true],
  ["no", false],
  ["wrong tool", "wrong tool"],
  ["Infinity", "Infinity"],
])("%s is read as %s", (typed, value) => {
  expect(readScore(typed)).toBe(value);
});
