import { expect, test } from "vitest";

import type { TurnRow } from "../../api/types";
import { EVENTS_BEFORE, holds, joined, LINES } from "./near";

const rows = (...seqs: number[]) => seqs.map((seq) => ({ seq }) as TurnRow);
const start = { rows: rows(1, 4, 9), from: 0, to: 9 };

test("lines around an event follow those of the beginning, each of them once", () => {
  const near = { rows: rows(9, 12, 15), from: 8, to: 15 };
  expect(joined(start, near).map((row) => row.seq)).toEqual([1, 4, 9, 12, 15]);
  expect(joined(start, null)).toBe(start.rows);
});

test("once the beginning reaches behind them, they add nothing", () => {
  const near = { rows: rows(4, 9), from: 3, to: 9 };
  expect(joined(start, near)).toBe(start.rows);
});

test("an event between two loaded parts has no lines yet", () => {
  const near = { rows: rows(30), from: 25, to: 40 };
  expect([9, 10, 24, 25, 40, 41].map((seq) => holds([start, near], seq))).toEqual([
    true,
    false,
    false,
    true,
    true,
    false,
  ]);
  expect(holds([start, null], 30)).toBe(false);
});

test("so many lines are asked for that the event itself is among them, if each event begins one", () => {
  expect(LINES).toBeGreaterThan(EVENTS_BEFORE);
});
