// How moments on an axis, and calls, are named. Pure.
import type { ShownCall, TimedCall, TurnRow } from "../../api/types";
import { duration } from "../../model/format";

/** A round moment: "0 s", "500 ms", "2.5 s", "1 min 5 s". */
export function axisTime(ms: number): string {
  if (ms === 0) return "0 s";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`;
  return duration(ms).replace(/ 0 (s|min)$/, "");
}

/** What is known of calls from the lines of the run: by the number of a turn, and by the seq of a tool call. */
export type Named = { turns: ReadonlyMap<number, TurnRow>; tools: ReadonlyMap<number, ShownCall> };

export function namedBy(rows: readonly TurnRow[]): Named {
  const turns = new Map<number, TurnRow>();
  const tools = new Map<number, ShownCall>();
  for (const row of rows) {
    if (row.kind === "turn" && row.turn !== null) turns.set(row.turn, row);
    for (const call of row.calls) if (call.seq !== null) tools.set(call.seq, call);
  }
  return { turns, tools };
}

/** What a model call led to, in a few words: a tool call, or its answer. */
export function ledTo(call: TimedCall, named: Named): { call: ShownCall } | { text: string } | null {
  const row = call.turn === null ? undefined : named.turns.get(call.turn);
  if (row === undefined) return null;
  const first = row.calls[0];
  if (first !== undefined) return { call: first };
  if (call.status === "open") return { text: "answers" };
  return { text: row.to === "user" ? "the user" : "its answer" };
}

/** A tool call in one line, with its name: "count_rows(orders)". */
export const shownCall = ({ name, shown }: Pick<ShownCall, "name" | "shown">): string =>
  shown.startsWith(`${name}(`) ? shown : `${name}(${shown})`;
