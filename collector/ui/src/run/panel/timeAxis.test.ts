import { expect, test } from "vitest";

import { idle, momentAt, position, ticks, timeAxis, union } from "./timeAxis";

test("time in which a call was under way is never folded, however few events it had", () => {
  // One model call of 40 s, with an event at its start and one at its end, and a second agent that waits for its user.
  const work = [
    { start: 0, end: 40_000 },
    { start: 1_000, end: 2_000 },
    { start: 41_000, end: 41_500 },
  ];
  const axis = timeAxis(work, 0, 41_500);
  expect(axis.pieces.filter((piece) => piece.isFolded)).toEqual([]);
  expect(position(axis, 40_000) - position(axis, 0)).toBeCloseTo(40_000 / 41_500);
});

test("idle time is folded where it is most of the run", () => {
  const work = [0, 1, 2, 3].map((n) => ({ start: n * 60_000, end: n * 60_000 + 2_000 }));
  const axis = timeAxis(work, 0, 182_000);
  expect(axis.pieces.filter((piece) => piece.isFolded).map(({ from, to }) => to - from)).toEqual([
    58_000, 58_000, 58_000,
  ]);
  expect(position(axis, 2_000)).toBeGreaterThan(0.2);
});

test("short waits between calls of a busy run stay", () => {
  const work = Array.from({ length: 10 }, (_, n) => ({ start: n * 1_000, end: n * 1_000 + 800 }));
  expect(timeAxis(work, 0, 9_800).pieces).toHaveLength(1);
});

test("positions and moments are each other's inverse, and do not fall", () => {
  const work = [
    { start: 0, end: 500 },
    { start: 90_000, end: 90_400 },
    { start: 90_500, end: 91_000 },
    { start: 400_000, end: 401_000 },
  ];
  const axis = timeAxis(work, 0, 401_000);
  let before = -1;
  for (let ms = 0; ms <= 401_000; ms += 997) {
    const at = position(axis, ms);
    expect(at).toBeGreaterThanOrEqual(before);
    expect(momentAt(axis, at)).toBeCloseTo(ms, 3);
    before = at;
  }
  expect([position(axis, 0), position(axis, 401_000)]).toEqual([0, 1]);
});

test("a part of a run fills the axis; what is outside lies outside", () => {
  const axis = timeAxis([{ start: 0, end: 10_000 }], 2_000, 4_000);
  expect([position(axis, 2_000), position(axis, 4_000)]).toEqual([0, 1]);
  expect(position(axis, 0)).toBeLessThan(0);
  expect(position(axis, 9_000)).toBeGreaterThan(1);
});

test("a run in which nothing took time has an axis", () => {
  const axis = timeAxis([], 0, 0);
  expect(position(axis, 0)).toBe(0);
  expect(ticks(axis, 5).length).toBeGreaterThan(0);
});

test("union and idle cover the time, each moment once", () => {
  const work = [
    { start: 5, end: 9 },
    { start: 1, end: 6 },
    { start: 12, end: 13 },
  ];
  expect(union(work)).toEqual([
    { start: 1, end: 9 },
    { start: 12, end: 13 },
  ]);
  expect(idle(work, 0, 15)).toEqual([
    { start: 0, end: 1 },
    { start: 9, end: 12 },
    { start: 13, end: 15 },
  ]);
  expect(idle(work, 2, 8)).toEqual([]);
});

test("ticks are round moments in order, and not too many", () => {
  const axis = timeAxis([{ start: 0, end: 9_900 }], 0, 9_900);
  expect(ticks(axis, 5)).toEqual([0, 2_000, 4_000, 6_000, 8_000]);
  expect(ticks(timeAxis([{ start: 0, end: 3_000_000 }], 0, 3_000_000), 6)).toEqual([
    0, 600_000, 1_200_000, 1_800_000, 2_400_000, 3_000_000,
  ]);
});
