import { expect, test } from "vitest";

import { tallyOf, tallyText, toolLine } from "./tally";

const calls = (name: string) => ({ tools: [{ name, arguments: { a: "105 + 102" } }], text: null });
const says = (text: string) => ({ tools: [], text });

test("answers are counted by what they do, other wordings are the same", () => {
  const groups = tallyOf([calls("calculate"), says("It is 295."), says("It costs 295.")], says("295"));
  expect(groups).toEqual([
    { does: "answers", count: 2, isRecorded: true },
    { does: "calls calculate", count: 1, isRecorded: false },
  ]);
  expect(tallyText(groups)).toBe("2 of 3 answers, as recorded; 1 calls calculate");
  expect(tallyOf([], null)).toEqual([]);
});

test("a tool is shown with its values", () => {
  expect(toolLine({ name: "calculate", arguments: { a: "105 + 102", b: 2 } })).toBe("calculate(105 + 102, 2)");
  expect(toolLine({ name: "now" })).toBe("now()");
});
