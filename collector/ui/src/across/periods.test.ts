import { expect, test } from "vitest";

import { highest, type Period, series } from "./periods";

const period = (runs: number, failed: number, measures: Period["measures"]): Period => ({
  since: "",
  until: "",
  runs,
  succeeded: runs - failed,
  failed,
  measures,
});
const measure = (sum: number, p50: number, p95: number) => ({ count: 1, sum, p50, p95 });

test("measures that runs have are drawn, and periods without runs have no value", () => {
  const drawn = series([
    period(4, 1, { seconds: measure(10, 2, 4), compressions: measure(2, 0, 1), input_tokens: measure(0, 0, 0) }),
    period(0, 0, {}),
  ]);
  expect(drawn.map((each) => [each.name, each.high, each.low])).toEqual([
    ["runs", [4, 0], [1, 0]],
    ["duration", [4000, null], [2000, null]],
    ["compressions a run", [0.5, null], null],
  ]);
  expect(drawn.map(highest)).toEqual([4, 4000, 0.5]);
});
