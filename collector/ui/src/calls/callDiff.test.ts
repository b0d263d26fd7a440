import { expect, test } from "vitest";

import { alignedMessages, callSentence, changedSettings, changedTools, changedWords, readPlace } from "./callDiff";

const said = (role: string, content: string) => ({ role, parts: [{ type: "text", content }] });

test("equal messages are grouped, and what stands in one place is a change", () => {
  const a = [said("system", "s"), said("user", "one"), said("assistant", "x"), said("user", "end")];
  const b = [said("system", "s"), said("user", "two"), said("user", "end"), said("tool", "more")];
  expect(alignedMessages(a, b)).toEqual([
    { op: "same", messages: [a[0]] },
    { op: "changed", a: a[1], b: b[1] },
    { op: "only_a", message: a[2] },
    { op: "same", messages: [a[3]] },
    { op: "only_b", message: b[3] },
  ]);
  expect(alignedMessages([], [])).toEqual([]);
  expect(alignedMessages(a, a)).toEqual([{ op: "same", messages: a }]);
});

test("every message of both contexts is in exactly one pair", () => {
  const texts = ["a", "b", "c"];
  for (let n = 0; n < 3 ** 6; n++) {
    const all = Array.from({ length: 6 }, (_, k) => said("user", texts[Math.floor(n / 3 ** k) % 3] ?? ""));
    const [a, b] = [all.slice(0, 3), all.slice(3)];
    const pairs = alignedMessages(a, b);
    const of = (side: "a" | "b") =>
      pairs.flatMap((pair) =>
        pair.op === "same"
          ? [...pair.messages]
          : pair.op === "changed"
            ? [pair[side]]
            : pair.op === `only_${side}`
              ? [pair.message]
              : [],
      );
    expect(of("a")).toEqual(a);
    expect(of("b").map((message) => message.parts)).toEqual(b.map((message) => message.parts));
  }
});

test("settings and tools that differ", () => {
  expect(
    changedSettings({ temperature: 0, format: { type: "json" } }, { temperature: 1, format: { type: "json" } }),
  ).toEqual([{ name: "temperature", a: "0", b: "1" }]);
  expect(changedSettings(null, { seed: 3 })).toEqual([{ name: "seed", a: "–", b: "3" }]);
  expect(changedSettings(null, undefined)).toEqual([]);
  const tool = (name: string, description = "") => ({ type: "function", function: { name, description } });
  expect(changedTools([tool("a"), tool("b")], [tool("a", "other"), tool("c")])).toEqual([
    { name: "a", op: "changed" },
    { name: "b", op: "only_a" },
    { name: "c", op: "only_b" },
  ]);
});

test("words that differ; of long texts all of both", () => {
  expect(changedWords("it costs 98", "it costs 69")).toEqual([
    { text: "it costs ", op: "same" },
    { text: "98", op: "removed" },
    { text: "69", op: "added" },
  ]);
  expect(changedWords("x".repeat(30_000), "y").map((change) => change.op)).toEqual(["removed", "added"]);
});

test("what differs is said in a sentence", () => {
  const none = { model: false, settings: 0, tools: 0, messages: 0, answer: false };
  expect(callSentence(none)).toBe("Both saw the same, and answered the same.");
  expect(callSentence({ ...none, model: true, settings: 2, messages: 1, answer: true })).toBe(
    "They differ in the model, 2 settings and 1 message, and answered otherwise.",
  );
});

test("a call in an address", () => {
  expect(readPlace(`${"a".repeat(32)}:7`)).toEqual({ run: "a".repeat(32), seq: 7 });
  expect([readPlace(null), readPlace("a:1"), readPlace(`${"a".repeat(32)}:0`)]).toEqual([null, null, null]);
});
