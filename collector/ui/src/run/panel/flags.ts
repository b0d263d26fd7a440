// Flags above the lanes: suspects and their evidence, errors, and cuts of the context. Pure.
import type { TurnRow } from "../../api/types";
import { type Mark, targetOf } from "../turns/rows";

/** `seq` is where it stands, `to` the event that choosing it goes to: of a cut, the turn that first saw it. */
export type Flag = {
  seq: number;
  to: number;
  kind: "suspect" | "evidence" | "error" | "cut";
  text: string;
  title: string;
};

/** `marks` names the mark of a turn, as it is read out. */
export type Flags = { items: Flag[]; marks: ReadonlyMap<number, string> };

const ORDINALS = ["first", "second", "third"];
/** More flags than this are no help. */
const MOST = 200;

export function flagsOf(rows: readonly TurnRow[], marks: ReadonlyMap<number, Mark>, errors: readonly number[]): Flags {
  const items: Flag[] = [];
  const named = new Map<number, string>();
  for (const row of rows) {
    const mark = row.kind === "turn" && row.turn !== null ? marks.get(row.turn) : undefined;
    if (mark !== undefined && row.turn !== null) {
      const which = `${ORDINALS[mark.rank - 1] ?? `${mark.rank}th`} suspect`;
      const title = mark.isSuspect ? which : `evidence for the ${which}`;
      named.set(row.turn, title);
      items.push({
        seq: row.seq,
        to: row.seq,
        kind: mark.isSuspect ? "suspect" : "evidence",
        text: String(mark.rank),
        title: `Turn ${row.turn}: ${title}`,
      });
    }
    if (row.kind === "cut") {
      const title = row.text === null ? "The context was compressed" : `The context was compressed: ${row.text}`;
      items.push({ seq: row.seq, to: targetOf(rows, row), kind: "cut", text: "cut", title });
    }
  }
  for (const seq of errors) items.push({ seq, to: seq, kind: "error", text: "✕", title: `Error at event ${seq}` });
  return { items: items.slice(0, MOST), marks: named };
}
