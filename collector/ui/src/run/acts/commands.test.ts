import { expect, test } from "vitest";

import { forkWithAnswer, forkWithEdits } from "./commands";

test("a fork answers with a text, or with calls", () => {
  expect(forkWithAnswer("r1", 9, { text: "It's 3.", tools: [] })).toBe(
    `playhead fork r1 --at 9 --outcome '{"message":"It'\\''s 3."}' -- python agent.py`,
  );
  const command = forkWithAnswer("r1", 9, { text: null, tools: [{ name: "add", arguments: { a: 1 } }] });
  expect(JSON.parse(command.split("'")[1] ?? "")).toEqual({
    message: {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "add", arguments: '{"a":1}' } }],
    },
  });
});

test("a fork asks with other messages", () => {
  expect(forkWithEdits("r1", 9, { messages: { "1": "Be brief." } })).toBe(
    `playhead fork r1 --at 9 --outcome '{"messages":{"1":"Be brief."}}' -- python agent.py`,
  );
});
