import { expect, test } from "vitest";

import { markedPieces } from "./marks";

const shown = (text: string, marked: string[]) =>
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
