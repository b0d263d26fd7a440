import { expect, test } from "vitest";

import type { RunSummary } from "../api/types";
import { readFilter, suggestions } from "./filterTerms";

const run = (more: Partial<RunSummary>): RunSummary =>
  ({
    agents: [],
    models: [],
    tools: [],
    tags: [],
    session: null,
    user: null,
    fork_of: null,
    scored: [],
    ...more,
  }) as unknown as RunSummary;
const RUNS = [
  run({ agents: ["support", "night shift"], tools: ["refund"] }),
  run({ agents: ["support"], user: "ann" }),
];
const labels = (line: string) => suggestions(line, RUNS).map((each) => each.label);

test("conditions are read from the line, and what belongs to none is the text", () => {
  expect(readFilter('agent:"night shift" status:failed broken  lamp')).toEqual({
    agent: "night shift",
    status: "failed",
    text: "broken lamp",
  });
  expect(readFilter("http://x score:reward>=1 tag:task:3")).toEqual({
    text: "http://x",
    score: "reward>=1",
    tag: "task:3",
  });
  expect(readFilter('user: "two words" note: hello agent:')).toEqual({ user: "two words", text: "note: hello" });
  expect(readFilter("  ")).toEqual({});
});

test("names of conditions complete a word, and values of the shown runs a condition", () => {
  expect(labels("st")).toEqual(["status:"]);
  expect(labels("outcome:fa")).toEqual(["outcome:failed"]);
  expect(labels("")).toContain("agent:");
  expect(labels("agent:")).toEqual(["agent:support", "agent:night shift"]);
  expect(labels("refu")).toEqual(["tool:refund"]);
  expect(suggestions("status:failed agent:ni", RUNS)).toEqual([
    { line: 'status:failed agent:"night shift" ', label: "agent:night shift", about: "" },
  ]);
  expect(suggestions('agent:"ni', RUNS)[0]?.line).toBe('agent:"night shift" ');
  expect(labels("status:c")).toEqual(["status:completed", "status:cancelled"]);
  expect(labels("agent:support")).toEqual([]);
  expect(labels("nonsense:x")).toEqual([]);
});

test("a score or the cost is written with its sign, and outcomes may be several", () => {
  expect(readFilter("reward<1 cost>0.1 outcome:failed,crashed tool:f")).toEqual({
    score: "reward<1",
    cost_above: "0.1",
    outcome: ["failed", "crashed"],
    tool: "f",
  });
  expect(readFilter('"reward<1"')).toEqual({ text: "reward<1" });
});

test("scores that runs have complete a condition", () => {
  const scored = [run({ scored: [{ name: "reward", value: 0, label: null }] })];
  expect(suggestions("score:", scored).map((each) => each.label)).toEqual(["score:reward>=1", "score:reward<1"]);
});
