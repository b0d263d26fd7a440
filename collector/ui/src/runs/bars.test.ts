import { expect, test } from "vitest";

import { histogramBars } from "./bars";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();

test("steps without runs are bars, too, and the axis ends with the last step", () => {
  const { from, to, bars, highest } = histogramBars({
    histogram: {
      step_s: 10,
      steps: [
        { start: at(0), runs: 4, succeeded: 1, failed: 3 },
        { start: at(30), runs: 1, succeeded: 1, failed: 0 },
      ],
    },
  });
  expect(bars.map((bar) => [bar.runs, bar.failed])).toEqual([
    [4, 3],
    [0, 0],
    [0, 0],
    [1, 0],
  ]);
  expect(highest).toBe(4);
  expect(from).toBe(Date.parse(at(0)));
  expect(to).toBe(Date.parse(at(40)));
});

test("one run is one bar, and none is none", () => {
  const one = histogramBars({
    histogram: { step_s: 0, steps: [{ start: at(5), runs: 1, succeeded: 0, failed: 0 }] },
  });
  expect(one.bars).toHaveLength(1);
  expect(one.to).toBeGreaterThan(one.from);
  expect(histogramBars({ histogram: { step_s: 1, steps: [] } }).bars).toEqual([]);
});
