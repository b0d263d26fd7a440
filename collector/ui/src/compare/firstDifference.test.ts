import { expect, test } from "vitest";

import { firstDifference } from "./firstDifference";

test("the first difference is found, and nothing behind it is asked", async () => {
  const asked: number[] = [];
  const differs = (from: number) => async (n: number) => (asked.push(n), n >= from);
  expect(await firstDifference(5, differs(2))).toBe(2);
  expect(asked).toEqual([0, 1, 2]);
  expect(await firstDifference(3, differs(3))).toBe(3);
  expect(await firstDifference(0, differs(0))).toBe(0);
});
