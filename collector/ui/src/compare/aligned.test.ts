import { expect, test } from "vitest";

import { commonMessages, differing, moment, outputOf } from "./aligned";

const call = (seq: number, ended_seq: number | null) => ({ seq, ended_seq }) as never;
const items = [
  { a: call(6, 7), b: call(6, 8) },
  { a: call(9, 10), b: null },
  { a: null, b: call(12, null) },
];

test("a run without a call stays where it was", () => {
  expect([0, 1, 2].map((n) => moment(items, n, { a: 3, b: 3 }))).toEqual([
    { a: 7, b: 8 },
    { a: 10, b: 8 },
    { a: 10, b: 12 },
  ]);
  expect(moment([], 0, { a: 0, b: 0 })).toEqual({ a: 1, b: 1 });
});

test("rows that differ, and rows that one lacks", () => {
  expect(
    differing(
      [
        ["x", { span: "1", name: "a" }],
        ["y", [2]],
        ["z", 3],
      ],
      [
        ["x", { span: "2", name: "a" }],
        ["y", [4]],
      ],
    ),
  ).toEqual([
    { name: "y", a: "[2]", b: "[4]" },
    { name: "z", a: "3", b: "–" },
  ]);
});

test("contexts have their beginning in common up to the first message that says something else", () => {
  const said = (role: string, content: string, id = "") => ({ role, parts: [{ type: "text", content, id }] });
  expect(commonMessages([said("user", "a", "1"), said("user", "b")], [said("user", "a", "2"), said("user", "c")])).toBe(
    1,
  );
  expect(commonMessages([said("user", "a")], [])).toBe(0);
  expect(commonMessages([said("user", "a")], [said("tool", "a")])).toBe(0);
});

test("what a call gave is its result, or its error", () => {
  expect(outputOf({ kind: "tool_completed", data: {}, previews: { result: "3" } })).toBe("3");
  expect(outputOf({ kind: "tool_failed", data: { error_type: "TimeoutError", message: "30 s" } })).toBe(
    "TimeoutError: 30 s",
  );
  expect(outputOf({ kind: "tool_called", data: {}, previews: { arguments: "{}" } })).toBeNull();
  expect(outputOf(undefined)).toBeNull();
});
