import { expect, test } from "vitest";

import type { ShownCall, TurnRow } from "../../api/types";
import { restAt, restsOn } from "./rests";

const call = (seq: number | null, ended_seq: number | null, status = "completed"): ShownCall =>
  ({ seq, ended_seq, status, name: "look", shown: "" }) as ShownCall;
const row = (kind: TurnRow["kind"], seq: number, more: Partial<TurnRow> = {}): TurnRow =>
  ({ kind, seq, ended_seq: null, turn: null, group: "desk", calls: [], status: "completed", ...more }) as TurnRow;

const ROWS = [
  row("user", 2),
  row("turn", 4, { turn: 1, ended_seq: 5, calls: [call(7, 8)] }),
  row("turn", 10, { turn: 2, ended_seq: 11 }),
  row("user", 13),
  row("turn", 15, { turn: 3, ended_seq: 16, calls: [call(18, 19, "failed")] }),
];
const TURNS = ROWS.filter((each) => each.kind === "turn");
const roleAt = (seq: number, suspect = 2) => {
  const rest = restAt(seq, ROWS, TURNS, suspect);
  return rest === null ? null : `${rest.role} ${rest.turn}`;
};

test("a moment says what happened there", () => {
  expect(roleAt(11)).toBe("said at 2"); // the answer's end
  expect(roleAt(12)).toBe("said at 2"); // the message that it is
  expect(roleAt(8)).toBe("read at 1"); // the tool's end
  expect(roleAt(9)).toBe("read at 1"); // the message with the result
  expect(roleAt(6)).toBe("called at 1"); // the message that asks for the tool
  expect(roleAt(17)).toBe("done at 3"); // after the suspected turn
  expect(roleAt(17, 3)).toBe("called at 3");
  expect(roleAt(19)).toBe("raised at 3");
  expect(roleAt(13)).toBe("said before 3"); // the user's words
  expect(roleAt(3)).toBe("given at 1"); // the system prompt
});

test("a link goes to an event by which its turn is known", () => {
  expect(restAt(9, ROWS, TURNS, 2)?.seq).toBe(4);
  expect(restAt(8, ROWS, TURNS, 2)?.seq).toBe(8);
  expect(restAt(13, ROWS, TURNS, 2)?.seq).toBe(15);
});

test("several quotes of a turn are one moment", () => {
  const seqs = [11, 12, 8, null, 9].map((seq) => ({ seq }));
  expect(restsOn(seqs, ROWS, TURNS, 2)).toEqual([
    { role: "said at", seq: 11, turn: 2 },
    { role: "read at", seq: 8, turn: 1 },
  ]);
  expect(restsOn(seqs, [], [], 2)).toEqual([]);
});
