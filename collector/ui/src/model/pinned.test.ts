import { expect, test } from "vitest";

import { plot, samples, stepPath } from "./pinned";
import { isRef, isShort } from "./values";

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

test("refs and short values", () => {
  expect([
    isRef(`sha256:${"0".repeat(64)}`),
    isRef(`sha256:${"0".repeat(64)}:text`),
    isRef("sha256:00"),
    isRef(`see sha256:${"0".repeat(64)}`),
  ]).toEqual([true, true, false, false]);
  expect([isShort([1, 2]), isShort({ seq: 3 }), isShort({ text: "x".repeat(60) })]).toEqual([true, false, false]);
});
