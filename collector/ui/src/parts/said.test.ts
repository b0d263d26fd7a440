import { expect, test } from "vitest";

import { saidPieces, saidPlainly } from "./said";

test("a text without such characters is one piece", () => {
  expect(saidPieces("שלום, hello\n\tthere")).toEqual([{ text: "שלום, hello\n\tthere", isNamed: false }]);
  expect(saidPieces("")).toEqual([]);
});

test("characters that turn the direction around are named where they stand", () => {
  expect(saidPieces("a\u202etxt.exe\u202c")).toEqual([
    { text: "a", isNamed: false },
    { text: "U+202E", isNamed: true },
    { text: "txt.exe", isNamed: false },
    { text: "U+202C", isNamed: true },
  ]);
  expect(saidPlainly("a\u202eb")).toBe("a[U+202E]b");
});

test("joiners of emoji and of scripts stay what they are", () => {
  expect(saidPlainly("👩\u200d💻 می\u200cخواهم")).toBe("👩\u200d💻 می\u200cخواهم");
});

test("texts that are hidden in characters of another plane are seen", () => {
  expect(saidPlainly("ok\u{e0041}")).toBe("ok[U+E0041]");
});
