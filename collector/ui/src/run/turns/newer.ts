import type { TurnRow } from "../../api/types";

/** The lines known, with those behind the seq `from` replaced by a newer answer. Agents that began before may have ended since. */
export function withNewer(known: readonly TurnRow[], newer: readonly TurnRow[], from: number): readonly TurnRow[] {
  if (from === 0) return newer;
  return [...known.filter((row) => row.seq <= from), ...newer.filter((row) => row.seq > from)];
}
