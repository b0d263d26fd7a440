import { expect, test } from "vitest";

import { prettyJson } from "./prettyJson";

test("short JSON takes a line, long JSON a line per member, other text stays", () => {
  expect(prettyJson('{"a":1,"b":[1,2]}')).toBe('{"a": 1, "b": [1, 2]}');
  const long = prettyJson(JSON.stringify({ text: "x".repeat(90), price: 105 }));
  expect(long.split("\n")).toHaveLength(4);
  expect(JSON.parse(long)).toEqual({ text: "x".repeat(90), price: 105 });
  expect(prettyJson("[not json")).toBe("[not json");
  expect(prettyJson("plain")).toBe("plain");
});
