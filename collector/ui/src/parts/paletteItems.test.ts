import { expect, test } from "vitest";

import { isIdPart, paletteItems } from "./paletteItems";

const nothing = () => undefined;
const OFFERED = {
  actions: [{ label: "Fork from here", run: nothing }],
  frame: [{ label: "Keys", key: "?", run: nothing }],
  pages: [
    { href: "/", label: "Runs" },
    { href: "/search", label: "Search" },
  ],
  runs: [{ run: "0".repeat(24) + "0badcafe", name: "airline", started: "", session: null, user: "ada" }],
};
const labels = (written: string) => paletteItems(written, OFFERED).map((item) => item.label);

test("without a word, everything is offered, acts of the page first", () => {
  expect(labels("")).toEqual(["Fork from here", "airline", "Runs", "Search", "Keys"]);
});

test("each word has to be in the label; runs were found by the collector", () => {
  expect(labels("here fork").filter((label) => !label.includes(" the ") && !label.includes(" that "))).toEqual([
    "Fork from here",
    "airline",
  ]);
});

test("what was written can be looked for everywhere", () => {
  const found = paletteItems("a&b", OFFERED).flatMap((item) => ("href" in item ? [item.href] : []));
  expect(found).toContain("/?text=a%26b");
  expect(found).toContain("/search?for=texts&q=a%26b");
});

test("parts of ids are told from words", () => {
  expect(isIdPart("0badcafe")).toBe(true);
  expect(isIdPart("bad")).toBe(false);
  expect(isIdPart("airline")).toBe(false);
});
