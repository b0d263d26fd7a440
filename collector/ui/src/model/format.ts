// How figures, times and ids are written. Pure.

const number = new Intl.NumberFormat("en");

/** 12,345 */
export const count = (value: number): string => number.format(value);

/** "36 ms", "4.1 s", "3 min 20 s", "2 h 5 min"; "–" without a value. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** "$18.21", "$0.0755", "$0.0004", "<$0.000001"; "–" for unknown costs, which are not zero. */
export function money(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "$0";
  if (value < 0.000001) return "<$0.000001";
  return `$${value >= 1 ? value.toFixed(2) : value.toPrecision(value >= 0.01 ? 3 : 2)}`;
}

/** "860", "9,310", "84.2 k", "13.0 M": for sums, where the last figures say nothing. */
export function shortCount(value: number): string {
  if (value < 10_000) return count(value);
  return value < 1_000_000 ? `${(value / 1000).toFixed(1)}\u00a0k` : `${(value / 1_000_000).toFixed(1)}\u00a0M`;
}

/** The time of today, "06:42:50"; of other days with the date, "Nov 23, 06:42". `now`: ms since 1970. */
export function startedText(time: string, now: number): string {
  const at = new Date(time);
  if (at.toDateString() === new Date(now).toDateString()) return localTime(time);
  const day = at.toLocaleDateString("en", { month: "short", day: "numeric" });
  return `${day}, ${at.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false })}`;
}

/** "0.4 %" of a share between 0 and 1; a line does not end within it. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined) return "–";
  const value = share * 100;
  if (value > 0 && value < 0.05) return "<\u00a00.1\u00a0%";
  return `${value < 10 ? value.toFixed(1) : Math.round(value)}\u00a0%`;
}

/** The random end of a run's id, which tells runs apart; the API takes it for the id. */
export const shortId = (run: string): string => run.slice(-8);

/** "12 s ago", "5 min ago", "3 h ago", or the date. `now`: ms since 1970. */
export function ago(time: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(time).toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
}

/** The time in the reader's zone, to the second. */
export const localTime = (time: string): string => new Date(time).toLocaleTimeString(undefined, { hour12: false });

/** A value in one line of compact JSON. */
export function compact(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : (JSON.stringify(value) ?? "null");
}

/** The date and time in the reader's zone, to the second. */
export const localDateTime = (time: string): string =>
  new Date(time).toLocaleString(undefined, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hour12: false,
  });
