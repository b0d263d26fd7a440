// A part of a run that the timeline shows instead of all of it. Pure.
import type { Axis } from "./axis";

/** Events from `from` to `to`, both from 1. */
export type Focus = { from: number; to: number };

/** "12-40" as in the address; null for what is none, or is longer than the run. */
export function readFocus(text: string | null, length: number): Focus | null {
  const found = /^(\d{1,9})-(\d{1,9})$/.exec(text ?? "");
  if (found === null) return null;
  const focus = { from: Math.max(1, Number(found[1])), to: Math.min(length, Number(found[2])) };
  return focus.to > focus.from ? focus : null;
}

/** The axis with the focus from 0 to 1; events outside lie below 0 or above 1. Without a focus, the axis as it is. */
export function focused(axis: Axis, focus: Focus | null): Axis {
  const low = focus === null ? 0 : (axis.at[focus.from - 1] ?? 0);
  const high = focus === null ? 1 : (axis.at[focus.to - 1] ?? 1);
  if (focus === null || high <= low) return axis;
  const moved = (at: number) => (at - low) / (high - low);
  return {
    at: axis.at.map(moved),
    gaps: axis.gaps.map((gap) => ({ ...gap, at: moved(gap.at) })).filter((gap) => gap.at >= 0 && gap.at <= 1),
  };
}
