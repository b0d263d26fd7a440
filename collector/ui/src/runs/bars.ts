// The histogram of runs over time, from the steps that the API counted. Pure.
import type { RunsOverview } from "../api/types";

/** `start` and `end` in ms since 1970. */
export type Bar = { start: number; runs: number; failed: number };
export type Bars = { from: number; to: number; bars: Bar[]; highest: number };

/** One bar a step, also for those without runs, which the API leaves out. `from` and `to` are the ends of the axis, in ms. */
export function histogramBars({ histogram }: Pick<RunsOverview, "histogram">): Bars {
  const step = Math.max(1, histogram.step_s * 1000);
  const starts = histogram.steps.map((each) => Date.parse(each.start));
  if (starts.length === 0) return { from: 0, to: 1, bars: [], highest: 1 };
  const from = Math.min(...starts);
  const bars: Bar[] = Array.from({ length: Math.floor((Math.max(...starts) - from) / step) + 1 }, (_, n) => ({
    start: from + n * step,
    runs: 0,
    failed: 0,
  }));
  histogram.steps.forEach((each, n) => {
    const bar = bars[Math.floor(((starts[n] ?? from) - from) / step)];
    if (bar === undefined) return;
    bar.runs += each.runs;
    bar.failed += each.failed;
  });
  return { from, to: from + bars.length * step, bars, highest: Math.max(1, ...bars.map((bar) => bar.runs)) };
}
