import { expect, test } from "vitest";

import { sentencePieces } from "./sentencePieces";

test("names and values are told from words", () => {
  expect(sentencePieces("B went on to call `find(Brno)`, A ended.")).toEqual([
    { text: "B went on to call ", isCode: false },
    { text: "find(Brno)", isCode: true },
    { text: ", A ended.", isCode: false },
  ]);
  expect(sentencePieces("`a``b`").map((piece) => piece.text)).toEqual(["a", "b"]);
  expect(sentencePieces("a ` alone")).toEqual([{ text: "a ` alone", isCode: false }]);
  expect(sentencePieces("``")).toEqual([{ text: "", isCode: true }]);
});
