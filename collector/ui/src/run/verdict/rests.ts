// On which moments a finding rests, and what each of them is to the suspected turn. Pure.
import type { SuspectFinding, TurnRow } from "../../api/types";
import { targetOf, turnAt, turnOfSameAgent } from "../turns/rows";

/** `role` says what happened there: "said at", "called at", "done at" after the suspected turn, "read at", "raised at", "given at" with
 * the first messages, "said before" by the user. */
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

/** The moment of an event; null: it belongs to no turn. `seq` of it is an event by which its turn is known. */
export function restAt(seq: number, rows: readonly TurnRow[], turns: readonly TurnRow[], suspect: number): Rest | null {
  const said = rows.find((row) => row.kind === "user" && row.seq === seq);
  if (said !== undefined) {
    const reader = turnAt(turns, targetOf(rows, said));
    return reader?.turn == null ? null : { role: "said before", seq: reader.seq, turn: reader.turn };
  }
  const row = turnOfSameAgent(turns, seq, suspect);
  if (row?.turn == null) return null;
  const isNamed = [row.ended_seq, ...row.calls.flatMap((call) => [call.seq, call.ended_seq])].includes(seq);
  return { role: roleIn(row, seq, row.turn > suspect), seq: isNamed ? seq : row.seq, turn: row.turn };
}

/** What the event is in its turn. Between the answer and the first call stands what the model wrote. */
function roleIn(row: TurnRow, seq: number, isLater: boolean): string {
  const begun = row.calls.flatMap((call) => (call.seq === null ? [] : [call.seq]));
  const ended = row.calls.find((call) => call.ended_seq === seq);
  if (ended !== undefined) return ended.status === "failed" ? "raised at" : "read at";
  if (seq < row.seq) return "given at";
  if (row.calls.length === 0) return "said at";
  const isWritten = begun.includes(seq) || begun.every((call) => seq < call);
  return isWritten ? (isLater ? "done at" : "called at") : "read at";
}
