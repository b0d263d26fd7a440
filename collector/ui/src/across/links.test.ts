import { expect, test } from "vitest";

import { failedRuns, featureCondition, runsLink, succeededRuns, taskCondition, toolCondition } from "./links";

test("an address has the conditions that say something, later ones first", () => {
  expect(runsLink({ agent: "a b", tool: null }, { status: "", tool: "look_up" })).toBe("/?agent=a+b&tool=look_up");
  expect(runsLink({})).toBe("/");
});

test("failed runs are those that do not meet the outcome", () => {
  expect([succeededRuns(null), failedRuns(null)]).toEqual([{ status: "completed" }, { status: "failed" }]);
  expect([succeededRuns("resolved"), failedRuns("resolved")]).toEqual([
    { score: "resolved>=0.5" },
    { score: "resolved<0.5" },
  ]);
  expect([succeededRuns("reward>=1"), failedRuns("reward>=1")]).toEqual([
    { score: "reward>=1" },
    { score: "reward<1" },
  ]);
  expect(failedRuns("late<5")).toEqual({ score: "late>=5" });
  expect(failedRuns("resolved=true")).toEqual({ score: "resolved=false" });
  expect(failedRuns("verdict=kept")).toBeNull();
});

test("a feature leads to runs that have its tool, model, agent or tag", () => {
  expect(featureCondition("calls refund")).toEqual({ tool: "refund" });
  expect(featureCondition("calls refund again")).toEqual({ tool: "refund" });
  expect(featureCondition("refund fails")).toEqual({ tool: "refund" });
  expect(featureCondition("refund after look_up completed")).toEqual({ tool: "refund" });
  expect(featureCondition("(end) after look_up failed")).toEqual({ tool: "look_up" });
  expect(featureCondition("tag task:4")).toEqual({ tag: "task:4" });
  expect(featureCondition("tool_calls")).toEqual({});
});

test("the beginning and the end of a run are no tools", () => {
  expect(toolCondition("(end)", "look_up")).toEqual({ tool: "look_up" });
  expect(toolCondition("(begin)", null)).toEqual({});
});

test("a task's runs have its tag, session or user; an input is no condition", () => {
  expect(taskCondition("tag:task:", "task:4")).toEqual({ tag: "task:4" });
  expect(taskCondition("user", "eve")).toEqual({ user: "eve" });
  expect(taskCondition("input", "…")).toEqual({});
});
