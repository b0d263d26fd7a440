// What a key does on the run page, when it moves. Pure.
import type { Suspects, TurnRow } from "../api/types";
import { beside, errorsIn, listed, turnAt, turnBeside } from "./turns/rows";

export type Where = {
  at: number;
  rows: readonly TurnRow[];
  turns: readonly TurnRow[];
  suspects: Suspects | null;
  last: number;
};

/** The event that the key goes to; null: it goes nowhere. */
export function targetOfKey(key: string, isShifted: boolean, where: Where): number | null {
  const { at, rows, turns, suspects, last } = where;
  const step = isShifted ? -1 : 1;
  switch (key) {
    case "ArrowLeft":
      return isShifted ? Math.max(1, at - 1) : (turnBeside(turns, at, -1)?.seq ?? null);
    case "ArrowRight":
      return isShifted ? Math.min(last, at + 1) : (turnBeside(turns, at, 1)?.seq ?? null);
    case "Home":
      return turns[0]?.seq ?? 1;
    case "j":
      return lineBeside(rows, turns, at, 1);
    case "k":
      return lineBeside(rows, turns, at, -1);
    case "e":
    case "E":
      return beside(errorsIn(rows), at, step) ?? null;
    case "s":
    case "S":
      return beside(seqsOf(suspects), at, step) ?? null;
    case "c":
    case "C":
      return cutBeside(rows, turns, at, step);
    default:
      return null;
  }
}

const seqsOf = (suspects: Suspects | null): number[] =>
  (suspects?.items ?? []).map((each) => each.seq).sort((a, b) => a - b);

/** The turn on the next line of the list, which is not the next in time where agents work side by side. */
function lineBeside(rows: readonly TurnRow[], turns: readonly TurnRow[], at: number, step: 1 | -1): number | null {
  const lines = listed(rows)
    .map(({ row }) => row)
    .filter((row) => row.kind === "turn");
  const here = lines.indexOf(turnAt(turns, at) as TurnRow);
  return lines[here + step]?.seq ?? null;
}

/** The turn that first saw a context after a cut. */
function cutBeside(rows: readonly TurnRow[], turns: readonly TurnRow[], at: number, step: 1 | -1): number | null {
  const saw = rows
    .filter((row) => row.kind === "cut")
    .map((cut) => turns.find((turn) => turn.seq >= cut.seq && turn.group === cut.group)?.seq ?? cut.seq);
  return beside(saw, at, step) ?? null;
}
