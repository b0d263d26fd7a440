import { expect, test } from "vitest";

import { brief, changedMessages, countChanged, editable, editOutcome, systemText, type ChatMessage } from "./edits";

const SYSTEM: ChatMessage = { role: "system", content: "You are of help." };
const CALL: ChatMessage = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c1", function: { name: "look", arguments: "{}" } }],
};
const MESSAGES = [SYSTEM, CALL];

test("a text is edited as it is, a message with calls as JSON", () => {
  expect(editable(SYSTEM)).toEqual({ role: "system", text: "You are of help.", isJson: false });
  expect(JSON.parse(editable(CALL).text)).toEqual(CALL);
});

test("only what was changed is sent in place of the recorded", () => {
  expect(changedMessages(MESSAGES, new Map())).toEqual({ messages: null });
  expect(changedMessages(MESSAGES, new Map([[0, "You are of help."]]))).toEqual({ messages: null });
  expect(changedMessages(MESSAGES, new Map([[0, "Be brief."]]))).toEqual({
    messages: [{ role: "system", content: "Be brief." }, CALL],
  });
});

test("what is no JSON, or no message, is said with its number", () => {
  expect(changedMessages(MESSAGES, new Map([[1, "{"]]))).toEqual({
    problem: expect.stringContaining("Message 2: This is no JSON"),
  });
  expect(changedMessages(MESSAGES, new Map([[1, "[]"]]))).toEqual({ problem: expect.stringContaining("Message 2") });
});

test("a message in a few words", () => {
  expect(brief(CALL)).toBe("look");
  expect(brief({ role: "user", content: "a  b\nc" })).toBe("a b c");
  expect(brief({ role: "user", content: "x".repeat(100) }, 10)).toBe(`${"x".repeat(10)}…`);
});

test("a fork is told the changed texts by their positions, and nothing of what stays", () => {
  expect(editOutcome(MESSAGES, new Map(), null)).toBeNull();
  expect(editOutcome(MESSAGES, new Map([[0, "You are of help."]]), null)).toBeNull();
  const other = { ...CALL, content: "I look." };
  const texts = new Map([
    [0, "Be brief."],
    [1, JSON.stringify(other)],
  ]);
  expect(editOutcome(MESSAGES, texts, null)).toEqual({ messages: { "0": "Be brief.", "1": other } });
  expect(editOutcome(MESSAGES, new Map(), "Be brief.")).toEqual({ system: "Be brief." });
  expect(editOutcome(MESSAGES, new Map([[1, "{"]]), "Be brief.")).toBeNull();
  expect(countChanged(MESSAGES, texts)).toBe(2);
});

test("instructions apart from the messages are one text", () => {
  expect(systemText(null)).toBeNull();
  expect(systemText("Be of help.")).toBe("Be of help.");
  expect(
    systemText([
      { type: "text", content: "One." },
      { type: "text", text: "Two." },
    ]),
  ).toBe("One.\nTwo.");
});
