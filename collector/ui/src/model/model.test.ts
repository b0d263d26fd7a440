import { describe, expect, test } from "vitest";

import type { Message } from "../api/types";
import { argumentsText, messageTokens, partText } from "./context";
import { ago, duration, money, percent, shortId } from "./format";

describe("context", () => {
  const messages: Message[] = [
    { role: "system", parts: [{ type: "text", content: "Be kind." }] },
    { role: "assistant", parts: [{ type: "tool_call", name: "find", arguments: { order: "A1", n: 2 } }] },
    { role: "tool", parts: [{ type: "tool_call_response", response: { ok: true } }] },
    { role: "user", parts: [{ type: "hologram", data: 1 }] },
  ];

  test("parts are text, and unknown ones their JSON", () => {
    expect(messages.map((message) => message.parts.map(partText).join())).toEqual([
      "Be kind.",
      'find(order="A1", n=2)',
      '{"ok":true}',
      '{"type":"hologram","data":1}',
    ]);
    expect(argumentsText(["a"])).toBe('["a"]');
  });

  test("estimated tokens add up to what the provider counted", () => {
    const { each, tools } = messageTokens(messages, [{ name: "find" }], 1000);
    const sum = each.reduce((all, one) => all + one, tools);
    expect(Math.abs(sum - 1000)).toBeLessThan(5);
  });

  test("and to the parts of the context, where these are known", () => {
    const parts = [
      { kind: "system", tokens: 100 },
      { kind: "tools", tokens: 300 },
      { kind: "results", tokens: 40 },
      { kind: "new", tokens: 60 },
    ];
    const { each, tools } = messageTokens(messages, [{ name: "find" }], 1000, parts);
    expect([each[0], tools]).toEqual([100, 300]);
    expect(each.slice(1).reduce((all, one) => all + one, 0)).toBe(100);
  });
});

test("figures", () => {
  expect([duration(0.4), duration(36), duration(4100), duration(200_000), duration(7_500_000), duration(null)]).toEqual(
    ["0.4 ms", "36 ms", "4.1 s", "3 min 20 s", "2 h 5 min", "–"],
  );
  expect([money(0.0004), money(2), money(0), money(null)]).toEqual(["$0.00040", "$2.00", "$0", "–"]);
  expect([money(0.0000049), money(0.00000015)]).toEqual(["$0.0000049", "<$0.000001"]);
  expect([percent(0.0043), percent(0.5), percent(0.0003), percent(0)]).toEqual([
    "0.4\u00a0%",
    "50\u00a0%",
    "<\u00a00.1\u00a0%",
    "0.0\u00a0%",
  ]);
  expect(shortId("01a2".padEnd(24, "0") + "9b479b47")).toBe("9b479b47");
  const now = Date.parse("2026-01-01T00:10:00Z");
  expect([ago("2026-01-01T00:09:48Z", now), ago("2026-01-01T00:05:00Z", now)]).toEqual(["12 s ago", "5 min ago"]);
});
