import { expect, test } from "vitest";

import type { CompressionAudit } from "../api/types";
import { inline, summaryLines } from "./summary";

const message = (position: number, after: number | null) => ({
  position,
  after,
  seq: position + 10,
  role: "user",
  message: `ref-${position}`,
  summary: null,
  replaced_by: null,
});
const fact = (text: string, seq: number | null, ref: string | null, where = "summary") => ({
  kind: "name",
  text,
  label: null,
  times: 1,
  quotes: [{ seq, ref, part: 0, start: 0, end: 1, text }],
  kept_in: [{ where, ref: null, part: null, start: null, end: null }],
});
const AUDIT = {
  kept: [message(0, 0), message(4, 2)],
  summarised: [message(1, null), message(2, null)],
  dropped: [message(3, null)],
  summary: "S",
  preserved: [fact("Maria Lopez", 11, null), fact("May 3rd", null, "ref-3"), fact("LMP-1", 12, null, "kept")],
} as unknown as CompressionAudit;

test("a line of a summary stands for the removed messages of which it has a fact", () => {
  expect(summaryLines("Summary: maria lopez asks. She bought it on May 3rd.\n\nLMP-1 is broken", AUDIT)).toEqual([
    { text: "Summary: maria lopez asks.", positions: [1], facts: ["Maria Lopez"] },
    { text: "She bought it on May 3rd.", positions: [3], facts: ["May 3rd"] },
    { text: "LMP-1 is broken", positions: [], facts: [] },
  ]);
});

test("inline, the summary comes behind the last message that it stands for", () => {
  const said = (audit: CompressionAudit) =>
    inline(audit)
      .map((each) => `${each.op}${each.position ?? ""}`)
      .join(" ");
  expect(said(AUDIT)).toBe("=0 −1 −2 + −3 =4");
  expect(said({ ...AUDIT, summarised: [] })).toBe("=0 −3 + =4");
  expect(said({ ...AUDIT, summary: null })).toBe("=0 −1 −2 −3 =4");
});
