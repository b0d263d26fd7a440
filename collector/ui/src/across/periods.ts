// Numbers of runs over time, as bars. Pure.
import type { RunStatistics } from "../api/types";

export type Period = RunStatistics["periods"][number];

/** A chart: a value for each period, null where no run has one; `low` is a second, smaller one, drawn into the bar. */
export type Series = {
  name: string;
  unit: "count" | "tokens" | "money" | "ms" | "share";
  about: string;
  high: (number | null)[];
  low: (number | null)[] | null;
};

/** What is drawn of the periods; a measure that no run has is left out. */
export function series(periods: readonly Period[]): Series[] {
  const of = (name: string, part: "p50" | "p95" | "sum") => periods.map((each) => each.measures[name]?.[part] ?? null);
  const scaled = (values: (number | null)[], by: number) => values.map((value) => (value === null ? null : value * by));
  const all: Series[] = [
    {
      name: "runs",
      unit: "count",
      about: "failed ones below",
      high: periods.map((each) => each.runs),
      low: periods.map((each) => each.failed),
    },
    { name: "errors", unit: "count", about: "of all runs", high: of("errors", "sum"), low: null },
    { name: "tokens in", unit: "tokens", about: "of all runs", high: of("input_tokens", "sum"), low: null },
    { name: "cost", unit: "money", about: "of all runs", high: of("cost", "sum"), low: null },
    {
      name: "duration",
      unit: "ms",
      about: "p95, and p50 below",
      high: scaled(of("seconds", "p95"), 1000),
      low: scaled(of("seconds", "p50"), 1000),
    },
    {
      name: "context peak",
      unit: "tokens",
      about: "p95, and p50 below",
      high: of("context_peak", "p95"),
      low: of("context_peak", "p50"),
    },
    {
      name: "compressions a run",
      unit: "share",
      about: "mean",
      high: periods.map((each) => (each.runs === 0 ? null : (each.measures.compressions?.sum ?? 0) / each.runs)),
      low: null,
    },
  ];
  return all.filter((each) => each.high.some((value) => value !== null && value > 0));
}

/** The largest value of a series; 0 without any. */
export const highest = (series: Series): number =>
  series.high.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
