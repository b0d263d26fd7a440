import { expect, test } from "vitest";

import { choicesOf, readAnswer } from "./answer";

test("a text is a text, with or without quotes, when the program expects one", () => {
  const schema = { type: "string" };
  expect(readAnswer("main", schema)).toEqual({ value: "main" });
  expect(readAnswer('"main"', schema)).toEqual({ value: "main" });
  expect(readAnswer("42", schema)).toEqual({ value: "42" });
});

test("without a schema JSON is read as JSON, and everything else as a text", () => {
  expect(readAnswer('{"a": 1}', null)).toEqual({ value: { a: 1 } });
  expect(readAnswer("yes, do", null)).toEqual({ value: "yes, do" });
});

test("what is no JSON is refused where an object or a number is expected", () => {
  expect(readAnswer("three", { type: "integer" })).toEqual({ problem: "This is no JSON. Expected: integer." });
  expect(readAnswer("3", { type: ["integer", "null"] })).toEqual({ value: 3 });
});

test("values to choose from are those of the schema", () => {
  expect(choicesOf({ enum: ["a", "b"] })).toEqual(["a", "b"]);
  expect(choicesOf({ type: "boolean" })).toEqual([true, false]);
  expect(choicesOf({ type: "object" })).toEqual([]);
});
