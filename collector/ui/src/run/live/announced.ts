// What a screen reader is told of a run that goes on: turns that ended and errors, not seconds. Pure.
import type { TurnRow } from "../../api/types";

/** Sentences about turns that are over in `after` and were not in `before`. */
export function announced(before: readonly TurnRow[], after: readonly TurnRow[]): string[] {
  const open = new Map(before.map((row) => [row.seq, row.status === "open"]));
  const said: string[] = [];
  for (const row of after) {
    if (row.status === "open" || open.get(row.seq) === false) continue;
    if (row.kind === "turn") {
      const failed = row.status === "failed" ? row : row.calls.find((call) => call.status === "failed");
      said.push(
        failed === undefined
          ? `Turn ${row.turn} ended`
          : failed === row
            ? `Turn ${row.turn} failed`
            : `Turn ${row.turn}: a tool failed`,
      );
    } else if (row.kind === "agent" && row.raised) said.push(`${row.agent ?? "An agent"} raised an error`);
  }
  return said;
}
