import { describe, expect, test } from "vitest";

import type { Message, RecordedEvent } from "../api/types";
import { byStep, byTime, nearest } from "./timeline/axis";
import { argumentsText, blocks, messageTokens, partText } from "./context";
import { ago, duration, money, percent, shortId } from "./format";
import { type Folded, fold, laneOf, rowAt, steps } from "./steps/steps";
import { inTreeOrder, parents, placeAt, toggled, withoutCollapsed } from "./steps/tree";

function event(seq: number, kind: string, more: Partial<RecordedEvent> = {}): RecordedEvent {
  const time = new Date(1_760_000_000_000 + seq * 1000).toISOString();
  return {
    id: `${seq}`,
    run: "0",
    seq,
    time,
    kind,
    priority: "normal",
    span: null,
    actor: null,
    late: false,
    data: {},
    refs: {},
    ...more,
  };
}

describe("axis", () => {
  test("by step, all events take the same room", () => {
    expect([...byStep(3).at]).toEqual([0, 0.5, 1]);
    expect([...byStep(1).at]).toEqual([0.5]);
    expect([...byStep(0).at]).toEqual([]);
  });

  test("by time, positions do not fall, and stay within the axis", () => {
    const { at, gaps } = byTime([0, 10, 20, 20, 25, 90_000, 90_010]);
    expect(gaps).toHaveLength(1);
    expect(gaps[0]?.ms).toBe(89_975);
    for (let n = 1; n < at.length; n++) expect(at[n]).toBeGreaterThanOrEqual(at[n - 1] ?? 0);
    expect(at[0]).toBe(0);
    expect(at[at.length - 1]).toBeLessThanOrEqual(1);
    expect((at[4] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(0.3); // what was busy is seen
  });

  test("events of one moment, and times that fall, are placed all the same", () => {
    expect([...byTime([5, 5, 5]).at].every((each) => each >= 0 && each <= 1)).toBe(true);
    expect([...byTime([5, 1, 9]).at].every((each) => each >= 0 && each <= 1)).toBe(true);
  });

  test("the nearest event is found", () => {
    const { at } = byStep(11);
    expect(nearest(at, 0)).toBe(0);
    expect(nearest(at, 0.44)).toBe(4);
    expect(nearest(at, 0.46)).toBe(5);
    expect(nearest(at, 2)).toBe(10);
  });
});

describe("steps", () => {
  test("a call and its end are one row, below the agent that made it", () => {
    const rows = steps([
      event(1, "run_started"),
      event(2, "step_started", { span: "a", data: { name: "agent", step_kind: "agent" } }),
      event(3, "llm_called", { span: "m", data: { model: "gpt" } }),
      event(4, "tool_called", { span: "t", data: { name: "pay" } }),
      event(5, "tool_failed", { span: "t" }),
      event(6, "llm_completed", { span: "m", data: { usage: { input_tokens: 12, output_tokens: 3 } } }),
      event(7, "message_added", { data: { role: "assistant", source: "output" } }),
      event(8, "step_completed", { span: "a" }),
      event(9, "state_changed", { data: { key: "ticket" } }),
    ]);
    expect(rows.map((row) => [row.seq, row.end, row.kind, row.name, row.depth, row.failed])).toEqual([
      [2, 8, "agent", "agent", 0, false],
      [3, 6, "model", "gpt", 1, false],
      [4, 5, "tool", "pay", 1, true],
      [9, 9, "state", "ticket set", 0, false],
    ]);
    expect(rows[2]?.target).toBe(5); // where it failed
    expect(rows.map((row) => row.tokens)).toEqual([null, { input: 12, output: 3 }, null, null]);
    expect(rows[1]?.ended).toBe((rows[1]?.started ?? 0) + 3000);
  });

  test("what has not ended, and kinds that are not known, are kept", () => {
    const rows = steps([
      event(1, "llm_called", { span: "m" }),
      event(2, "something_new"),
      event(3, "llm_completed", { span: "other" }),
    ]);
    expect(rows.map((row) => [row.kind, row.end])).toEqual([
      ["model", null],
      ["other", 2],
      ["other", 3],
    ]);
  });

  test("events that follow are folded into the rows that are there; rows are replaced, and not changed", () => {
    const kinds = [
      "step_started",
      "llm_called",
      "llm_completed",
      "state_changed",
      "tool_called",
      "tool_failed",
      "step_completed",
    ];
    const all = Array.from({ length: 70 }, (_, n) =>
      event(n + 1, kinds[n % 7] as string, {
        span: `${Math.floor(n / 7)} ${["step", "model", "model", "", "tool", "tool", "step"][n % 7]}`,
      }),
    );
    let folded: Folded | undefined;
    for (let n = 0; n <= all.length; n++) {
      const [before, copy] = [folded?.rows, JSON.stringify(folded?.rows)];
      folded = fold(all.slice(0, n), folded);
      expect(folded.rows).toEqual(steps(all.slice(0, n)));
      expect(JSON.stringify(before)).toBe(copy);
    }
    const other = all.with(10, event(11, "tool_called"));
    expect(fold(other, folded).rows).toEqual(steps(other));
    expect(fold(all.slice(0, 3), folded).rows).toEqual(steps(all.slice(0, 3)));
  });

  test("the row of the playhead is the last that began, or that ended there", () => {
    const rows = steps([
      event(1, "run_started"),
      event(2, "step_started", { span: "a" }),
      event(3, "tool_called", { span: "t" }),
      event(4, "state_changed"),
      event(5, "tool_completed", { span: "t" }),
      event(6, "step_completed", { span: "a" }),
    ]);
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((at) => rowAt(rows, at))).toEqual([-1, -1, 0, 1, 2, 1, 0, 2]);
    expect(rowAt([], 3)).toBe(-1);
  });

  test("parallel agents are siblings, and each call is below the one that made it", () => {
    const rows = steps([
      event(1, "run_started", { span: "root" }),
      event(2, "step_started", { span: "a", data: { name: "one", step_kind: "agent", parent: "root" } }),
      event(3, "step_started", { span: "b", data: { name: "two", step_kind: "agent", parent: "root" } }),
      event(4, "message_added", { span: "m", data: { role: "user" } }),
      event(5, "llm_called", { span: "m", data: { model: "gpt", parent: "a" } }),
      event(6, "tool_called", { span: "t", data: { name: "find", parent: "b" } }),
      event(7, "llm_called", { span: "n", data: { model: "inner", parent: "t" } }),
      event(8, "state_changed", { span: "b", data: { key: "plan" } }),
      event(9, "state_changed", { span: "root", data: { key: "todo" } }),
      event(10, "tool_called", { span: "u", data: { name: "lost", parent: "gone" } }),
    ]);
    expect(rows.map((row) => [row.seq, row.parent, row.depth])).toEqual([
      [2, null, 0],
      [3, null, 0],
      [4, 2, 1],
      [5, 2, 1],
      [6, 3, 1],
      [7, 6, 2],
      [8, 3, 1],
      [9, null, 0],
      [10, null, 0],
    ]);
    const ordered = inTreeOrder(rows);
    expect(ordered.map((row) => row.seq)).toEqual([2, 4, 5, 3, 6, 7, 8, 9, 10]);
    const shown = withoutCollapsed(ordered, new Set([3]));
    expect(shown.map((each) => [each.row.seq, each.hasMore, each.hidden])).toEqual([
      [2, true, 0],
      [4, false, 0],
      [5, false, 0],
      [3, true, 3],
      [9, false, 0],
      [10, false, 0],
    ]);
    const places = new Map(shown.map((each, n) => [each.row.seq, n]));
    expect([1, 5, 7, 8, 9].map((at) => placeAt(shown, places, rows, at))).toEqual([-1, 2, 3, 3, 4]);
    expect([2, 5, 7, 9].map((at) => toggled(rows, parents(rows), at))).toEqual([2, 2, 6, null]);
  });

  test("without parallel calls the order stays as it is, and rows without their parent are at the top", () => {
    const rows = steps([
      event(1, "run_started", { span: "root" }),
      event(2, "step_started", { span: "a", data: { parent: "root" } }),
      event(3, "tool_called", { span: "t", data: { parent: "a" } }),
      event(4, "tool_failed", { span: "t" }),
      event(5, "step_completed", { span: "a" }),
      event(6, "tool_called", { span: "u", data: { parent: "root" } }),
    ]);
    expect(inTreeOrder(rows)).toBe(rows);
    expect(inTreeOrder(rows.slice(1)).map((row) => row.seq)).toEqual([3, 6]);
    expect(withoutCollapsed(rows, new Set([2]))[0]).toMatchObject({ hidden: 1, hiddenFailed: 1 });
  });

  test("lanes", () => {
    expect(
      ["llm_called", "tool_failed", "message_added", "checkpoint_created", "context_compressed", "step_started"].map(
        laneOf,
      ),
    ).toEqual(["model", "tool", "message", "state", "compression", null]);
  });
});

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

  test("tokens of the blocks add up to what the provider counted", () => {
    const { each, tools } = messageTokens(messages, [{ name: "find" }], 1000);
    const sum = each.reduce((all, one) => all + one, tools);
    expect(Math.abs(sum - 1000)).toBeLessThan(5);
    expect(blocks(messages, each, tools).map((block) => block.kind)).toEqual([
      "system",
      "tools",
      "user",
      "assistant",
      "results",
    ]);
  });
});

test("figures", () => {
  expect([duration(0.4), duration(36), duration(4100), duration(200_000), duration(7_500_000), duration(null)]).toEqual(
    ["0.4 ms", "36 ms", "4.1 s", "3 min 20 s", "2 h 5 min", "–"],
  );
  expect([money(0.0004), money(2), money(0), money(null)]).toEqual(["$0.00040", "$2.00", "$0", "–"]);
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
