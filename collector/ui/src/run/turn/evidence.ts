// What of a suspect's findings concerns which block of its turn. Pure.
import type { ComparedValue, RunTurn, Suspect, SuspectFinding } from "../../api/types";

/** A quote up to this length is marked in the text; a longer one is most of it. */
const LONGEST_MARK = 120;

/** Words of the answer that findings quote, to be marked in it. */
export function markedInAnswer(suspect: Suspect | undefined, answer: string | null): string[] {
  const quotes = (suspect?.findings ?? []).flatMap((finding) => [
    ...finding.quotes,
    ...finding.values.flatMap((value) => value.quotes),
  ]);
  const words = quotes.filter((quote) => quote.ref !== null && quote.ref === answer).map((quote) => quote.text.trim());
  return [...new Set(words.filter((text) => text !== "" && text.length <= LONGEST_MARK))];
}

/** Findings that rest on a value of a call's arguments, by their rules. */
const OF_ARGUMENTS: readonly string[] = ["value_from_nowhere", "value_unasked", "other_subject"];
/** Findings about what a call did, or came back with. */
const OF_CALLS: readonly string[] = [
  "call_failed",
  "call_repeated",
  "diverged",
  "error_ignored",
  "order_broken",
  "limit_broken",
  "amount_broken",
  "against_restriction",
];

/** The findings that are told beside the calls of the turn; all of them, if it has no answer to stand beside. */
export function findingsOfCalls(turn: RunTurn, suspect: Suspect | undefined): SuspectFinding[] {
  const all = suspect?.findings ?? [];
  if (turn.calls.length === 0) return [];
  if (turn.answer === null || !hasText(turn.answer)) return all;
  return all.filter((finding) => [...OF_ARGUMENTS, ...OF_CALLS].includes(finding.rule));
}

/** The findings that are told beside the answer: those that are not beside a call. */
export function findingsOfAnswer(turn: RunTurn, suspect: Suspect | undefined): SuspectFinding[] {
  const beside = findingsOfCalls(turn, suspect);
  return (suspect?.findings ?? []).filter((finding) => !beside.includes(finding));
}

/** Whether an answer says something, beside the tools that it asks for. */
export function hasText(answer: Record<string, unknown>): boolean {
  const parts = Array.isArray(answer.parts) ? (answer.parts as unknown[]) : [];
  return parts.some(
    (part) =>
      typeof part === "object" &&
      part !== null &&
      "type" in part &&
      part.type !== "tool_call" &&
      part.type !== "reasoning" &&
      !("content" in part && part.content === ""),
  );
}

export type ShownValue = ComparedValue | { hidden: number };

/** Values of entries that are neither said nor the least: of many, the first and the last are shown. */
const OTHERS = 2;

/** The values of a finding as lines of a table; of many other entries, how many are left out. */
export function shownValues(values: readonly ComparedValue[], isAll: boolean): ShownValue[] {
  const others = values.filter((value) => value.mark === "other");
  if (isAll || others.length <= OTHERS) return [...values];
  const kept = others[0];
  const found: ShownValue[] = [];
  for (const value of values) {
    const last = found.at(-1);
    if (value.mark !== "other" || value === kept) found.push(value);
    else if (last !== undefined && "hidden" in last) last.hidden += 1;
    else found.push({ hidden: 1 });
  }
  return found;
}

/** Names of the values for a narrow table: of an entry's identifiers, those that all entries have are left out. */
export function shortNames(values: readonly ComparedValue[]): ReadonlyMap<ComparedValue, string> {
  const entries = values.flatMap((value) => (value.entry === null ? [] : [value.entry.split(", ")]));
  const isShared = (name: string) => entries.length > 1 && entries.every((entry) => entry.includes(name));
  return new Map(
    values.map((value) => {
      const own = (value.entry ?? "").split(", ").filter((name) => !isShared(name));
      return [value, (own.join(", ") || value.entry) ?? value.path ?? ""];
    }),
  );
}
