// A run as the user and the agent saw it: what was said, and the work between as one line. Pure.
import type { ShownCall, TurnRow } from "../../api/types";

/** `work`: turns and calls between two utterances; `calls` are the tools, each with the turn that called it. */
export type Talk =
  | { kind: "user"; row: TurnRow }
  | { kind: "answer"; row: TurnRow }
  | { kind: "work"; rows: TurnRow[]; calls: { call: ShownCall; turn: number | null; seq: number }[]; ms: number }
  | { kind: "cut" | "wait"; row: TurnRow };

/** Utterances in order. Answers that went to nobody in the conversation, such as summaries, are work or left out; `last` is the run's last answer. */
export function talkOf(rows: readonly TurnRow[], last?: TurnRow): Talk[] {
  const found: Talk[] = [];
  let work: TurnRow[] = [];
  const flush = () => {
    if (work.some((row) => row.calls.length > 0)) found.push(workOf(work));
    work = [];
  };
  for (const row of rows) {
    switch (row.kind) {
      case "user":
        flush();
        found.push({ kind: "user", row });
        break;
      case "turn":
        if ((row.to === "user" || row === last) && !row.internal) {
          flush();
          found.push({ kind: "answer", row });
          if (row.calls.length > 0) work.push(row);
        } else if (!row.internal) work.push(row);
        break;
      case "call":
        work.push(row);
        break;
      case "cut":
      case "wait":
        flush();
        found.push({ kind: row.kind, row });
        break;
      case "agent":
        break; // its turns say what it did
    }
  }
  flush();
  return found;
}

function workOf(rows: TurnRow[]): Talk {
  const calls = rows.flatMap((row) =>
    row.calls.map((call) => ({ call, turn: row.turn, seq: call.ended_seq ?? call.seq ?? row.seq })),
  );
  const start = Math.min(...rows.map((row) => row.started_ms));
  const end = Math.max(...rows.map((row) => row.started_ms + (row.elapsed_ms ?? 0)));
  return { kind: "work", rows, calls, ms: end - start };
}

/** The index of the item in which a turn is; -1: none. */
export const placeOf = (talk: readonly Talk[], turn: TurnRow | undefined): number =>
  turn === undefined
    ? -1
    : talk.findIndex((each) => (each.kind === "work" ? each.rows.includes(turn) : each.row === turn));

/** "0:04" since the beginning of the run. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const rest = String(seconds % 60).padStart(2, "0");
  return minutes < 60
    ? `${minutes}:${rest}`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}
