// Which messages the lines of a summary stand for, by the facts of these messages that a line still has. Pure.
import type { CompressionAudit } from "../api/types";

type Audit = Pick<CompressionAudit, "preserved" | "summarised" | "dropped">;

/** A line of a summary, the removed messages of which it has a fact, by their positions before, and these facts. */
export type SummaryLine = { text: string; positions: number[]; facts: string[] };

/** A summary in lines and sentences, none of them empty, with what each stands for. */
export function summaryLines(summary: string, audit: Audit): SummaryLine[] {
  const removed = [...audit.summarised, ...audit.dropped];
  const bySeq = new Map(
    removed.flatMap((message) => (message.seq === null ? [] : [[message.seq, message.position] as const])),
  );
  const byRef = new Map(removed.map((message) => [message.message, message.position]));
  const facts = audit.preserved.filter((fact) => fact.kept_in.some((place) => place.where === "summary"));
  return sentences(summary).map((text) => {
    const here = facts.filter((fact) => text.toLowerCase().includes(fact.text.toLowerCase()));
    const positions = here.flatMap((fact) =>
      fact.quotes.map(
        (quote) =>
          (quote.ref === null ? undefined : byRef.get(quote.ref)) ??
          (quote.seq === null ? undefined : bySeq.get(quote.seq)),
      ),
    );
    return {
      text,
      positions: [...new Set(positions.filter((each) => each !== undefined))].sort((a, b) => a - b),
      facts: [...new Set(here.map((fact) => fact.text))],
    };
  });
}

function sentences(text: string): string[] {
  return text
    .split(/\n+|(?<=[.!?])\s+(?=[^\s])/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export type InlineEntry = { op: "=" | "−" | "+"; position: number | null };

/**
 * The context before and after in one column: messages in their order, the removed ones with "−", and the summary ("+",
 * without a position) behind the last message that it stands for; without one, behind the last that was removed.
 */
export function inline(audit: Pick<CompressionAudit, "kept" | "summarised" | "dropped" | "summary">): InlineEntry[] {
  const all = [
    ...audit.kept.map((each) => ({ op: "=" as const, position: each.position })),
    ...[...audit.summarised, ...audit.dropped].map((each) => ({ op: "−" as const, position: each.position })),
  ];
  const entries: InlineEntry[] = all.sort((a, b) => a.position - b.position);
  if (audit.summary === null || audit.summary === undefined) return entries;
  const stoodFor = (audit.summarised.length > 0 ? audit.summarised : audit.dropped).map((each) => each.position);
  const place = entries.findIndex((each) => each.position === Math.max(...stoodFor));
  return [...entries.slice(0, place + 1), { op: "+", position: null }, ...entries.slice(place + 1)];
}
