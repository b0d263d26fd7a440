// Lines of a run of which not all are loaded yet: its beginning, and those around the event that the page is about. Pure.
import type { TurnRow } from "../../api/types";

/** All lines with `from` <= seq <= `to` are in `rows`. */
export type Part = { rows: readonly TurnRow[]; from: number; to: number };

/** Lines are asked for from so many events before the event that the page is about. */
export const EVENTS_BEFORE = 300;
/** An event begins one line at most: so these reach behind the event. */
export const LINES = EVENTS_BEFORE + 100;

/** The lines that are loaded, in order: the beginning of the run, then those of another part that are not in it. */
export function joined(start: Part, near: Part | null): readonly TurnRow[] {
  if (near === null || near.to <= start.to) return start.rows;
  return [...start.rows, ...near.rows.filter((row) => row.seq > start.to)];
}

/** Whether the lines around an event are loaded. */
export const holds = (parts: readonly (Part | null)[], seq: number): boolean =>
  parts.some((part) => part !== null && part.from <= seq && seq <= part.to);
