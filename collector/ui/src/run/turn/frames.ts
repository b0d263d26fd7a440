// The frames of a stack without those of libraries. Pure.
import type { SourceLine } from "../../api/types";

/** Frames, and in place of frames of libraries how many there are. Where all are of libraries, the last one is shown. */
export function folded(frames: readonly SourceLine[], isAll: boolean): (SourceLine | { hidden: number })[] {
  if (isAll) return [...frames];
  const hasOwn = frames.some((frame) => !frame.library);
  const parts: (SourceLine | { hidden: number })[] = [];
  frames.forEach((frame, n) => {
    const isShown = !frame.library || (!hasOwn && n === frames.length - 1);
    const last = parts.at(-1);
    if (isShown) parts.push(frame);
    else if (last !== undefined && "hidden" in last) parts[parts.length - 1] = { hidden: last.hidden + 1 };
    else parts.push({ hidden: 1 });
  });
  return parts;
}
