import { describe, expect, test } from "vitest";

import { tally } from "../search/conditions";
import { hexRow, occurrences, pieces, rowOf, rowStarts } from "./bytes";

const rows = (text: string, width: number) => {
  const starts = rowStarts(text, width);
  return starts.slice(0, -1).map((start, n) => text.slice(start, starts[n + 1]));
};

describe("rows of a text", () => {
  test("end at a line's end or at the width, and nothing is lost", () => {
    expect(rows("ab\n\ncdefgh\ni", 4)).toEqual(["ab\n", "\n", "cdef", "gh\n", "i"]);
    expect(rows("abcd\nefgh", 4)).toEqual(["abcd\n", "efgh"]);
    expect(rows("", 4)).toEqual([]);
    expect(rows("\n", 4)).toEqual(["\n"]);
  });
  test("do not cut a character outside the BMP", () => {
    expect(rows("abc😀d", 4)).toEqual(["abc", "😀d"]);
  });
  test("are found by position", () => {
    const starts = rowStarts("ab\n\ncdefgh\ni", 4);
    expect([0, 2, 3, 4, 8, 11].map((at) => rowOf(starts, at))).toEqual([0, 0, 1, 2, 3, 4]);
  });
});

describe("what is marked in a text", () => {
  test("occurrences, whatever the capitals, and signs of patterns as they are", () => {
    expect(occurrences("a.b A.B axb", "a.b", 10)).toEqual([0, 4]);
    expect(occurrences("aaaa", "a", 2)).toEqual([0, 1]);
    expect(occurrences("a", "", 2)).toEqual([]);
  });
  test("masked values, in JSON and in text", () => {
    const masked = (text: string) =>
      pieces(text, "")
        .filter((piece) => piece.kind === "masked")
        .map((piece) => piece.text);
    expect(masked('{"key": {"$masked": "str"}, "other": 1}')).toEqual(['{"$masked": "str"}']);
    expect(masked("token=<masked> [redacted]")).toEqual(["<masked>", "[redacted]"]);
  });
  test("pieces add up to the text", () => {
    const text = 'find {"$masked": "str"} and find';
    expect(
      pieces(text, "find")
        .map((piece) => piece.text)
        .join(""),
    ).toBe(text);
    expect(pieces(text, "masked").map((piece) => piece.kind)).toEqual(["plain", "masked", "plain"]);
  });
});

test("bytes in hex have their offset, and their characters where they have some", () => {
  expect(hexRow(new Uint8Array([104, 105, 0, 255]), 16)).toBe(`00000010  ${"68 69 00 ff".padEnd(48)} hi..`);
});

test("facets count values, the most frequent first", () => {
  expect(tally(["b", "a", null, "b"], 5)).toEqual([
    { value: "b", count: 2 },
    { value: "a", count: 1 },
  ]);
});
