// What became of each message of a context that was cut, in lines; and what the model got instead. Pure.
import type { CompressionAudit, Message } from "../../api/types";
import { kindOf, partText } from "../../model/context";
import { asMessage, readPart } from "../../parts/messageParts";

type Audit = Pick<CompressionAudit, "kept" | "summarised" | "dropped">;

/** `=` kept, `∑` summarised, `−` dropped. */
export type Fate = "=" | "∑" | "−";

/**
 * A line: a message, or a call with its result. `from` and `to` are positions before the cut, from 1. `call` is the tool's name
 * and its arguments, `text` what was said or came back; null: it is not stored. `lost` facts were said here, `needed` of them
 * were needed later. `tags` are the program's, and no compression removes what it `preserved`.
 */
export type FateLine = {
  from: number;
  to: number;
  fate: Fate;
  role: string;
  call: { name: string; shown: string } | null;
  text: string | null;
  lost: number;
  needed: number;
  seq: number | null;
  tags: readonly string[];
  preserved: boolean;
};

/** The lines of the context before, in order. `after`: the messages of the new context, where the kept ones are. */
export function fateLines(audit: Audit, after: readonly (Message | null)[]): FateLine[] {
  const all = [
    ...audit.kept.map((each) => ({ each, fate: "=" as const })),
    ...audit.summarised.map((each) => ({ each, fate: "∑" as const })),
    ...audit.dropped.map((each) => ({ each, fate: "−" as const })),
  ].sort((a, b) => a.each.position - b.each.position);
  const lines: FateLine[] = [];
  for (const { each, fate } of all) {
    const message =
      each.value != null ? asMessage(each.value) : each.after === null ? null : (after[each.after] ?? null);
    const before = lines.at(-1);
    const result = message === null ? null : resultOf(message);
    if (result !== null && before?.call != null && before.text === null && before.fate === fate) {
      Object.assign(before, {
        to: each.position + 1,
        text: result,
        lost: before.lost + each.lost,
        needed: before.needed + each.needed,
        seq: each.seq,
        tags: [...new Set([...before.tags, ...each.tags])],
        preserved: before.preserved || each.preserved,
      });
      continue;
    }
    const role = each.role ?? message?.role ?? "";
    const call = message === null ? null : callOf(message);
    const text = message === null || call !== null ? null : textOf(message);
    lines.push({
      from: each.position + 1,
      to: each.position + 1,
      fate,
      role,
      call,
      text,
      lost: each.lost,
      needed: each.needed,
      seq: each.seq,
      tags: each.tags,
      preserved: each.preserved,
    });
  }
  return lines;
}

const textOf = (message: Message): string => message.parts.map(partText).join(" ");

function callOf(message: Message): FateLine["call"] {
  for (const part of message.parts) {
    const read = readPart(part);
    if (read.kind === "call") return { name: read.name, shown: shownArguments(read.given) };
  }
  return null;
}

/** `DEN, IAH, 2024-05-27`: the values of the arguments. */
function shownArguments(given: unknown): string {
  if (given === null || given === undefined) return "";
  if (typeof given !== "object" || Array.isArray(given)) return JSON.stringify(given);
  return Object.values(given)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join(", ");
}

/** What a message with results says; null: it has none. */
function resultOf(message: Message): string | null {
  return kindOf(message.role) === "results" || message.parts.some((part) => readPart(part).kind === "result")
    ? textOf(message)
    : null;
}

/** A message of the new context: `was` says how it came there. */
export type AfterLine = { place: number; was: "kept" | "moved" | "summary" | "new"; message: Message | null };

/** The messages of the context after the cut. The summary is known by what it says. */
export function afterLines(
  audit: Pick<CompressionAudit, "kept" | "summary">,
  after: readonly (Message | null)[],
): AfterLine[] {
  const kept = new Map(audit.kept.flatMap((each) => (each.after === null ? [] : [[each.after, each.moved] as const])));
  const summary = said(asMessage(audit.summary));
  return after.map((message, place) => {
    const moved = kept.get(place);
    const isSummary = moved === undefined && summary !== null && said(message) === summary;
    return {
      place: place + 1,
      was: isSummary ? "summary" : moved === undefined ? "new" : moved ? "moved" : "kept",
      message,
    };
  });
}

const said = (message: Message | null): string | null => (message === null ? null : textOf(message));

/** Facts by their kind, in the order in which the kinds first come. */
export function byKind<Fact extends { kind: string; text: string }>(facts: readonly Fact[]): [string, Fact[]][] {
  const kinds = new Map<string, Fact[]>();
  for (const fact of facts) kinds.set(fact.kind, [...(kinds.get(fact.kind) ?? []), fact]);
  return [...kinds];
}
