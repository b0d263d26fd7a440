import { expect, test } from "vitest";

import { changedLines, changeIn } from "./whatItDoes";

const shown = (old: string, next: string) =>
  changedLines(old, next).map(
    ({ sign, words }) => sign + words.map((word) => (word.isChanged ? `[${word.text}]` : word.text)).join(""),
  );

test("a change is what goes and what comes, with the words that differ", () => {
  expect(shown("return total * discount", "return total * (1 - discount)")).toEqual([
    "-return total * discount",
    "+return total * [(1 - ]discount[)]",
  ]);
});

test("lines are kept, also empty ones; equal texts stay as they are", () => {
  expect(shown("a\n\nb", "a\n\nc")).toEqual(["-a", "-", "-[b]", "+a", "+", "+[c]"]);
  expect(shown("", "new")).toEqual(["+[new]"]);
  expect(shown("same", "same")).toEqual([" same"]);
});

test("arguments that say a change are told from others", () => {
  const change = changeIn({ path: "shop/prices.py", old: "a", new: "b" });
  expect(change?.lines).toHaveLength(2);
  expect(change?.others).toEqual([["path", "shop/prices.py"]]);
  expect(changeIn({ old: 1, new: 2 })).toBeNull();
  expect(changeIn(["old", "new"])).toBeNull();
  expect(changeIn(null)).toBeNull();
});
