import { expect, test } from "vitest";

import { byStep } from "./axis";
import { focused, readFocus } from "./focus";
import { plot, samples, stepPath } from "../pinned";
import { callUsages } from "../usage";
import { isRef, isShort } from "../values";

test("a focus is two events of the run, the first before the second", () => {
  expect(readFocus("3-9", 40)).toEqual({ from: 3, to: 9 });
  expect(readFocus("0-99", 40)).toEqual({ from: 1, to: 40 });
  expect([readFocus("9-3", 40), readFocus("4-4", 40), readFocus("a-b", 40), readFocus(null, 40)]).toEqual([
    null,
    null,
    null,
    null,
  ]);
});

test("the focus fills the axis, and what lies outside lies outside of it", () => {
  const axis = focused(byStep(11), { from: 3, to: 7 });
  expect([axis.at[2], axis.at[6]]).toEqual([0, 1]);
  expect(axis.at[0]).toBeLessThan(0);
  expect(axis.at[10]).toBeGreaterThan(1);
  expect(focused(byStep(3), null).at).toEqual(byStep(3).at);
});

test("a short run is looked at everywhere, a long one at equal distances from end to end", () => {
  expect(samples(3)).toEqual([1, 2, 3]);
  const long = samples(10_000);
  expect([long.length, long[0], long.at(-1)]).toEqual([48, 1, 10_000]);
});

test("numbers, truths, lists and words are plotted", () => {
  expect(plot([null, 2, 4])).toEqual({ heights: [null, 0, 1], scale: "2 to 4" });
  expect(plot([false, true]).heights).toEqual([0, 1]);
  expect(plot([[1], [1, 2, 3]])).toEqual({ heights: [0, 1], scale: "length 1 to 3" });
  expect(plot(["a", "b", "a"])).toEqual({ heights: [0, 1, 0], scale: "2 different values" });
  expect(plot([5, 5]).scale).toBe("always 5");
  expect(plot([undefined]).scale).toBe("no value");
});

test("a value holds until the next one, and a missing one leaves a gap", () => {
  expect(stepPath([1, 2, 3], [0, 1, 1], 3, 100, 12)).toBe("M0.0 11.0H50.0V1.0H100.0V1.0H100");
  expect(stepPath([1, 2, 3], [0, null, 1], 3, 100, 12)).toBe("M0.0 11.0H50.0M100.0 1.0H100");
});

test("usage of calls: what came from a cache is no new input, and a call without a price ends the cost", () => {
  const call = (seq: number, usage: Record<string, number>, cost: number | null) => ({ seq, usage, cost });
  const found = callUsages([
    call(1, {}, null),
    call(2, { input_tokens: 10, output_tokens: 3, cache_read_tokens: 4 }, 0.5),
    call(3, { input_tokens: 5 }, 0.25),
    call(4, { output_tokens: 1 }, null),
    call(5, { input_tokens: 1 }, 1),
  ]);
  expect(found[0]).toEqual({ seq: 2, fresh: 6, cached: 4, output: 3, cost: 0.5 });
  expect(found.map((each) => each.cost)).toEqual([0.5, 0.75, null, null]);
});

test("refs and short values", () => {
  expect([
    isRef(`sha256:${"0".repeat(64)}`),
    isRef(`sha256:${"0".repeat(64)}:text`),
    isRef("sha256:00"),
    isRef(`see sha256:${"0".repeat(64)}`),
  ]).toEqual([true, true, false, false]);
  expect([isShort([1, 2]), isShort({ seq: 3 }), isShort({ text: "x".repeat(60) })]).toEqual([true, false, false]);
});
