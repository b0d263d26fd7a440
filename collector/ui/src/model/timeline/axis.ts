// Where events stand on the timeline, by step or by time with idle gaps folded. Pure.

/** Positions between 0 and 1, in the order of the events, and the folded gaps: where, and how long they were (ms). */
export type Axis = { at: Float64Array; gaps: { at: number; ms: number }[] };

/** A gap is folded when it is longer than this share of the run, and than so many times what is usual in it. */
const FOLD_SHARE = 0.08;
const FOLD_TIMES = 4;
const GAP_WIDTH = 0.02;

/** Every event takes the same room. */
export function byStep(events: number): Axis {
  const at = new Float64Array(events);
  for (let n = 0; n < events; n++) at[n] = events < 2 ? 0.5 : n / (events - 1);
  return { at, gaps: [] };
}

/** Events at their times (ms, not falling); gaps in which nothing happened are folded, so that the rest is seen. */
export function byTime(times: readonly number[]): Axis {
  const steps = times.map((time, n) => (n === 0 ? 0 : Math.max(0, time - (times[n - 1] ?? time))));
  const sorted = [...steps].sort((a, b) => a - b);
  const total = steps.reduce((sum, step) => sum + step, 0);
  const usual = sorted[Math.floor(sorted.length * 0.75)] ?? 0;
  const longest = Math.max(usual * FOLD_TIMES, total * FOLD_SHARE);
  const isGap = (step: number) => step > longest && total > 0;
  const busy = steps.reduce((sum, step) => sum + (isGap(step) ? 0 : step), 0);
  const found = steps.filter(isGap).length;
  const room = Math.max(0.2, 1 - found * GAP_WIDTH);
  const width = found === 0 ? 0 : (1 - room) / found;
  const at = new Float64Array(times.length);
  const gaps: Axis["gaps"] = [];
  let here = 0;
  steps.forEach((step, n) => {
    if (isGap(step)) {
      gaps.push({ at: here + width / 2, ms: step });
      here += width;
    } else here += busy === 0 ? (n === 0 ? 0 : room / Math.max(1, times.length - 1)) : (step / busy) * room;
    at[n] = Math.min(1, here);
  });
  return { at, gaps };
}

/** The index of the event that is drawn nearest to a position. `at` does not fall. */
export function nearest(at: Float64Array, position: number): number {
  let low = 0;
  let high = at.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((at[middle] ?? 0) < position) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && Math.abs((at[low - 1] ?? 0) - position) <= Math.abs((at[low] ?? 0) - position)) return low - 1;
  return low;
}
