// Where two runs stand at one of their aligned calls. Pure.
import type { CallPair, Message, RecordedEvent } from "../api/types";
import { partText } from "../model/context";

/** The event of each run at a pair; a run without a call there stays at its call before, or at the end of the common part. */
export function moment(
  items: readonly Pick<CallPair, "a" | "b">[],
  n: number,
  common: { a: number; b: number },
): { a: number; b: number } {
  const found = { a: Math.max(1, common.a), b: Math.max(1, common.b) };
  for (const pair of items.slice(0, n + 1))
    for (const side of ["a", "b"] as const) {
      const call = pair[side];
      if (call !== null) found[side] = call.ended_seq ?? call.seq;
    }
  return found;
}

export type Row = { name: string; a: string; b: string };

/** What is different in every run, and says nothing. */
const OF_ONE_RUN = new Set(["span", "call_id", "seq"]);
const told = (value: unknown): string =>
  JSON.stringify(value, (key, inner: unknown) => (OF_ONE_RUN.has(key) ? undefined : inner)) ?? "null";

/** Rows whose values differ, of two lists of rows; a row that one of them lacks is "–" there. Ids and positions do not count. */
export function differing(a: readonly [string, unknown][], b: readonly [string, unknown][]): Row[] {
  const first = new Map(a);
  const second = new Map(b);
  const text = (values: ReadonlyMap<string, unknown>, name: string) =>
    values.has(name) ? told(values.get(name)) : "–";
  return [...new Set([...first.keys(), ...second.keys()])]
    .map((name) => ({ name, a: text(first, name), b: text(second, name) }))
    .filter((row) => row.a !== row.b);
}

/** How many messages two contexts begin with in common. Ids of tool calls do not count. */
export function commonMessages(a: readonly Message[], b: readonly Message[]): number {
  let n = 0;
  while (n < a.length && n < b.length && saying(a[n]) === saying(b[n])) n += 1;
  return n;
}

/** A message as its role and what it says. */
export const saying = (message: Message | undefined): string =>
  message === undefined ? "" : `${message.role}: ${message.parts.map(partText).join("\n")}`;

type Ended = Pick<RecordedEvent, "kind" | "data" | "previews">;

/** What a call gave, in one text: a result, or an error. Null for events that are no end of a call. */
export function outputOf(event: Ended | undefined): string | null {
  if (event === undefined || !/_(completed|failed)$/.test(event.kind)) return null;
  const { error_type: type, message } = event.data as { error_type?: string; message?: string };
  if (event.kind.endsWith("_failed")) return [type, message].filter(Boolean).join(": ") || "failed";
  return event.previews?.result ?? event.previews?.output ?? null;
}
