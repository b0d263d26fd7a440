// How a key of the state goes over a run. Pure.

/** Positions that are asked for, at most: each is a request. */
const SAMPLES = 48;

/** Events at which a run of this length is looked at: all, or so many at equal distances, the last one included. */
export function samples(length: number): number[] {
  if (length <= SAMPLES) return Array.from({ length }, (_, n) => n + 1);
  return Array.from({ length: SAMPLES }, (_, n) => 1 + Math.round((n / (SAMPLES - 1)) * (length - 1)));
}

/** Heights between 0 and 1, null where there is no value; and what the scale is, in words. */
export type Plot = { heights: (number | null)[]; scale: string };

/** Numbers by size, truths as 0 and 1, lists by their length; all else takes a height for each different value. */
export function plot(values: readonly unknown[]): Plot {
  const there = values.filter((value) => value !== null && value !== undefined);
  const number = numbersOf(there);
  if (number !== null) {
    const all = there.map(number);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const height = (value: unknown) => (high === low ? 0.5 : (number(value) - low) / (high - low));
    const scale = there.length === 0 ? "no value" : low === high ? `always ${low}` : `${low} to ${high}`;
    return {
      heights: values.map((value) => (value === null || value === undefined ? null : height(value))),
      scale: there.some(Array.isArray) ? `length ${scale}` : scale,
    };
  }
  const different = [...new Set(there.map((value) => JSON.stringify(value)))];
  const height = (value: unknown) =>
    different.length < 2 ? 0.5 : different.indexOf(JSON.stringify(value)) / (different.length - 1);
  return {
    heights: values.map((value) => (value === null || value === undefined ? null : height(value))),
    scale: `${different.length} different values`,
  };
}

/** How to make all of these a number; null when one of them is none. */
function numbersOf(values: readonly unknown[]): ((value: unknown) => number) | null {
  if (values.every((value) => typeof value === "number" || typeof value === "boolean")) return Number;
  return values.every(Array.isArray) ? (value) => (value as unknown[]).length : null;
}

/** The plot as the path of a step line, `width` and `height` units large: a value holds until the next one. */
export function stepPath(
  positions: readonly number[],
  heights: readonly (number | null)[],
  length: number,
  width: number,
  height: number,
): string {
  const x = (seq: number) => (length < 2 ? 0 : ((seq - 1) / (length - 1)) * width).toFixed(1);
  let path = "";
  let isDrawn = false;
  heights.forEach((value, n) => {
    const at = x(positions[n] ?? 1);
    if (value === null) {
      if (isDrawn) path += `H${at}`;
      isDrawn = false;
      return;
    }
    const y = ((1 - value) * (height - 2) + 1).toFixed(1);
    path += isDrawn ? `H${at}V${y}` : `M${at} ${y}`;
    isDrawn = true;
  });
  return isDrawn ? `${path}H${width}` : path;
}
