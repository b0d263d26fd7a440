// The lines of a run as a list that is read: agents as headings, one below the other; and moving within them. Pure.
import type { Suspects, TurnRow } from "../../api/types";

/** A line with its place. `around`: of each agent around it, the outermost first, whether an error came out of it. */
export type ListedRow = { row: TurnRow; around: readonly boolean[] };

/**
 * The lines in the order of the list: each agent's lines below the agent, and of agents that worked at the same time,
 * those that raised first. A single agent that all work belongs to has no heading.
 */
export function listed(rows: readonly TurnRow[]): ListedRow[] {
  const agents = rows.filter((row) => row.kind === "agent");
  const only = agents.length === 1 ? agents[0] : undefined;
  const known = new Set(agents.filter((row) => row !== only).map((row) => row.group));
  const around = (row: TurnRow) => (row.kind === "agent" ? row.within : row.group);
  const below = new Map<string | null, TurnRow[]>();
  for (const row of rows) {
    if (row === only) continue;
    const group = around(row);
    const key = group !== null && known.has(group) ? group : null;
    const siblings = below.get(key);
    if (siblings === undefined) below.set(key, [row]);
    else siblings.push(row);
  }
  const found: ListedRow[] = [];
  const seen = new Set<TurnRow>();
  const add = (group: string | null, inside: readonly boolean[]) => {
    for (const row of raisedFirst(below.get(group) ?? [])) {
      if (seen.has(row)) continue;
      seen.add(row);
      found.push({ row, around: inside });
      if (row.kind === "agent" && row.group !== null) add(row.group, [...inside, row.raised]);
    }
  };
  add(null, []);
  return found;
}

/** Agents that follow each other in the list and overlap in time: those that raised come first, else nothing moves. */
function raisedFirst(siblings: readonly TurnRow[]): readonly TurnRow[] {
  if (!siblings.some((row) => row.kind === "agent" && row.raised)) return siblings;
  const ordered: TurnRow[] = [];
  let beside: TurnRow[] = [];
  let end = -Infinity;
  const flush = () => {
    ordered.push(...beside.filter((row) => row.raised), ...beside.filter((row) => !row.raised));
    [beside, end] = [[], -Infinity];
  };
  for (const row of siblings) {
    if (row.kind !== "agent" || row.started_ms >= end) flush();
    if (row.kind === "agent") {
      beside.push(row);
      end = Math.max(end, row.elapsed_ms === null ? Infinity : row.started_ms + row.elapsed_ms);
    } else ordered.push(row);
  }
  flush();
  return ordered;
}

/** The turns in the order of their numbers. */
export const turnsOf = (rows: readonly TurnRow[]): TurnRow[] =>
  rows.filter((row) => row.kind === "turn").sort((a, b) => (a.turn ?? 0) - (b.turn ?? 0));

/** The turn that begins or ends at this event, or one of whose calls does; undefined: there is none. */
const turnNaming = (turns: readonly TurnRow[], at: number): TurnRow | undefined =>
  turns.find(
    (row) =>
      row.seq === at || row.ended_seq === at || row.calls.some((call) => call.seq === at || call.ended_seq === at),
  );

/**
 * The turn that the event belongs to: the one that begins or ends there, or one of whose calls does; else the last that
 * had begun. Before the first turn it is the first; undefined: there is none.
 */
export const turnAt = (turns: readonly TurnRow[], at: number): TurnRow | undefined =>
  turnNaming(turns, at) ?? turns.findLast((row) => row.seq <= at) ?? turns[0];

/**
 * The same for an event of which it is known that it belongs to what the agent of turn `number` saw or did: turns of other
 * agents, which may have begun between, are passed over.
 */
export function turnOfSameAgent(turns: readonly TurnRow[], at: number, number: number): TurnRow | undefined {
  const named = turnNaming(turns, at);
  const own = turns.find((row) => row.turn === number);
  if (named !== undefined || own === undefined) return named ?? turnAt(turns, at);
  return turnAt(
    turns.filter((row) => row.group === own.group),
    at,
  );
}

/** The turn so many turns further on or back; the outermost where there are no more. */
export function turnBeside(turns: readonly TurnRow[], at: number, step: 1 | -1): TurnRow | undefined {
  const here = turns.indexOf(turnAt(turns, at) as TurnRow);
  return turns[Math.max(0, Math.min(turns.length - 1, here + step))];
}

/** The next of these seqs behind `at`, or the one before it; undefined: there is none. */
export function beside(seqs: readonly number[], at: number, step: 1 | -1): number | undefined {
  return step === 1 ? seqs.find((seq) => seq > at) : seqs.findLast((seq) => seq < at);
}

/** Where errors were raised: the calls that failed, and the model calls; in order. */
export const errorsIn = (rows: readonly TurnRow[]): number[] =>
  rows
    .flatMap((row) => [
      ...(row.kind === "turn" && row.status === "failed" ? [row.ended_seq ?? row.seq] : []),
      ...(row.kind === "turn" || row.kind === "call"
        ? row.calls.filter((call) => call.status === "failed").map((call) => call.ended_seq ?? call.seq ?? row.seq)
        : []),
    ])
    .sort((a, b) => a - b);

/** The event that choosing a line goes to: of a user's message and of a cut, the turn that first saw it; of an agent, its first turn. */
export function targetOf(rows: readonly TurnRow[], row: TurnRow): number {
  if (row.kind === "user" || row.kind === "cut")
    return rows.find((next) => next.kind === "turn" && next.seq > row.seq && next.group === row.group)?.seq ?? row.seq;
  if (row.kind === "agent")
    return rows.find((next) => next.kind === "turn" && next.group === row.group)?.seq ?? row.seq;
  return row.seq;
}

/** What speaks against a turn: the rank of the suspect that it is, or that it is evidence for. */
export type Mark = { rank: number; isSuspect: boolean; strong: boolean };

/** Marks by the number of the turn: of each suspect its own, of the first one also the turns that its findings quote. */
export function marksOf(
  suspects: Suspects | null,
  rows: readonly TurnRow[],
  turns: readonly TurnRow[],
): ReadonlyMap<number, Mark> {
  const marks = new Map<number, Mark>();
  if (suspects === null) return marks;
  const first = suspects.items[0];
  for (const seq of first?.findings.flatMap((finding) => finding.quotes.map((quote) => quote.seq)) ?? []) {
    if (seq === null || first === undefined) continue;
    const turn = (turnThatRead(rows, turns, seq) ?? turnOfSameAgent(turns, seq, first.turn))?.turn;
    if (turn != null) marks.set(turn, { rank: 1, isSuspect: false, strong: false });
  }
  for (const { rank, turn, strength } of suspects.items)
    marks.set(turn, { rank, isSuspect: true, strong: strength === "strong" });
  return marks;
}

/** The turn that saw what the user said at this event; undefined: the event is no message of the user. */
export function turnThatRead(rows: readonly TurnRow[], turns: readonly TurnRow[], seq: number): TurnRow | undefined {
  const said = rows.find((row) => row.kind === "user" && row.seq === seq);
  return said === undefined ? undefined : turnAt(turns, targetOf(rows, said));
}
