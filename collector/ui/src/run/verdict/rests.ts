// On which moments a finding rests, and what each of them is to the suspected turn. Pure.
import type { SuspectFinding, TurnRow } from "../../api/types";
import { targetOf, turnAt } from "../turns/rows";

/** `role` says what happened there: "said at", "called at", "done at", "read at", "raised at", "asked before". */
export type Rest = { role: string; seq: number; turn: number };

type Quote = Pick<SuspectFinding["quotes"][number], "seq">;

/** One moment for each turn that is quoted, in the order of the quotes. `suspect`: the number of the suspected turn. */
export function restsOn(
  quotes: readonly Quote[],
  rows: readonly TurnRow[],
  turns: readonly TurnRow[],
  suspect: number,
): Rest[] {
  const found = new Map<number, Rest>();
  for (const { seq } of quotes) {
    const rest = seq === null ? null : restAt(seq, rows, turns, suspect);
    if (rest !== null && !found.has(rest.turn)) found.set(rest.turn, rest);
  }
  return [...found.values()];
}

/** The moment of an event; null: it belongs to no turn. */
export function restAt(seq: number, rows: readonly TurnRow[], turns: readonly TurnRow[], suspect: number): Rest | null {
  const said = rows.find((row) => row.kind === "user" && row.seq === seq);
  if (said !== undefined) {
    const reader = turnAt(turns, targetOf(rows, said));
    return reader?.turn == null ? null : { role: "asked before", seq, turn: reader.turn };
  }
  const row = turns.length === 0 ? undefined : turnAt(turns, seq);
  if (row?.turn == null) return null;
  return { role: roleIn(row, seq, row.turn > suspect), seq, turn: row.turn };
}

function roleIn(row: TurnRow, seq: number, isLater: boolean): string {
  const isCalling = row.calls.length > 0;
  if (row.seq === seq || row.ended_seq === seq || row.calls.some((call) => call.seq === seq))
    return !isCalling ? "said at" : isLater ? "done at" : "called at";
  const ended = row.calls.find((call) => call.ended_seq === seq);
  if (ended?.status === "failed") return "raised at";
  // Between two turns, what comes in is what the tools of the first one gave.
  return isCalling ? "read at" : "said at";
}
