import { expect, test } from "vitest";

import type { ContextMessage, Message } from "../../api/types";
import { afterLines, byKind, fateLines } from "./fates";

const text = (role: string, content: string): Message => ({ role, parts: [{ type: "text", content }] });
const call: Message = {
  role: "assistant",
  parts: [{ type: "tool_call", id: "c", name: "find", arguments: { from: "DEN", n: 2 } }],
};
const result: Message = { role: "tool", parts: [{ type: "tool_call_response", id: "c", response: "HAT084" }] };

function message(position: number, value: Message | null, more: Partial<ContextMessage> = {}): ContextMessage {
  return {
    ...{ position, seq: position + 10, role: value?.role ?? null, message: `m${position}`, after: null, moved: false },
    ...{ summary: null, replaced_by: null, lost: 0, needed: 0, tags: [], preserved: false },
    ...(value === null ? {} : { value }),
    ...more,
  } as ContextMessage;
}

const audit = {
  kept: [message(0, null, { after: 0, role: "system" }), message(4, null, { after: 2, role: "user" })],
  summarised: [
    message(1, text("user", "Hi")),
    message(2, call, { lost: 1 }),
    message(3, result, { lost: 3, needed: 2 }),
  ],
  dropped: [message(5, null)],
  summary: text("user", "Summary"),
};
const after = [text("system", "Be kind."), text("user", "Summary"), text("user", "Go on.")];

test("each message has a line with its fate, and a call and its result have one together", () => {
  expect(
    fateLines(audit, after).map(({ from, to, fate, text, lost, needed }) => [from, to, fate, text, lost, needed]),
  ).toEqual([
    [1, 1, "=", "Be kind.", 0, 0],
    [2, 2, "∑", "Hi", 0, 0],
    [3, 4, "∑", "HAT084", 4, 2],
    [5, 5, "=", "Go on.", 0, 0],
    [6, 6, "−", null, 0, 0],
  ]);
  expect(fateLines(audit, after)[2]?.call).toEqual({ name: "find", shown: "DEN, 2" });
});

test("a line has the tags of its messages, and says what is preserved", () => {
  const marked = [
    message(1, call, { tags: ["goal"], preserved: true }),
    message(2, result, { tags: ["goal", "facts"], preserved: false }),
  ];
  const [line] = fateLines({ kept: [], summarised: marked, dropped: [] }, []);
  expect([line?.tags, line?.preserved]).toEqual([["goal", "facts"], true]);
});

test("a call that was kept and its result that went are two lines", () => {
  const lines = fateLines(
    { ...audit, kept: [message(0, call, { after: 0 })], summarised: [], dropped: [message(1, result)] },
    [],
  );
  expect(lines.map((line) => line.fate)).toEqual(["=", "−"]);
});

test("what the model got: kept, the summary, and what is new", () => {
  expect(afterLines(audit, [...after, text("user", "more")]).map(({ place, was }) => [place, was])).toEqual([
    [1, "kept"],
    [2, "summary"],
    [3, "kept"],
    [4, "new"],
  ]);
});

test("facts by their kind", () => {
  const fact = (kind: string, text: string) => ({ kind, text });
  expect(
    byKind([fact("date", "a"), fact("number", "1"), fact("date", "b")]).map(([kind, facts]) => [kind, facts.length]),
  ).toEqual([
    ["date", 2],
    ["number", 1],
  ]);
});
