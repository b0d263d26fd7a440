import { expect, test } from "vitest";

import { type Marked, markedPieces } from "./marks";

const shown = (text: string, marked: Marked[]) =>
  markedPieces(text, marked)
    .map((piece) => (piece.isMarked ? `[${piece.text}]` : piece.text))
    .join("");

test("every place of every marked text is marked", () => {
  expect(shown("costs 295, not 207; 295", ["295", "207"])).toBe("costs [295], not [207]; [295]");
});

test("of two that overlap, the earlier and the longer one counts", () => {
  expect(shown("abcd", ["bc", "abc", "cd"])).toBe("[abc]d");
});

test("nothing is marked by an empty text, and nothing is lost", () => {
  expect(shown("abc", [""])).toBe("abc");
  expect(shown("", ["a"])).toBe("");
});

test("a number or a name is marked as a whole", () => {
  expect(shown("4 of 2026-05-24, 14:40, RX4 and €4.", [{ whole: "4" }])).toBe(
    "[4] of 2026-05-24, 14:40, RX4 and €[4].",
  );
  expect(shown("98 or 98.50 or 1998", [{ whole: "98" }])).toBe("[98] or 98.50 or 1998");
  expect(shown("RX132, not RX1325", [{ whole: "RX132" }])).toBe("[RX132], not RX1325");
});
