import { expect, test } from "vitest";

import type { RunSummary } from "../api/types";
import { facets, readFilter, suggestions } from "./filterTerms";

const run = (more: Partial<RunSummary>): RunSummary =>
  ({
    agents: [],
    models: [],
    tools: [],
    tags: [],
    session: null,
    user: null,
    fork_of: null,
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

test("facets are what some of the shown runs have, and no condition says yet", () => {
  const runs = [...RUNS, run({ agents: ["other"], tags: ["eu"] }), run({ agents: ["support"], tags: ["eu"] })];
  expect(facets(runs, () => null)).toEqual([
    ["agent", "support", 3],
    ["tag", "eu", 2],
  ]);
  expect(facets(runs, (name) => (name === "agent" ? "support" : null))).toEqual([["tag", "eu", 2]]);
  expect(facets(RUNS, () => null)).toEqual([]); // all of them have it
});
