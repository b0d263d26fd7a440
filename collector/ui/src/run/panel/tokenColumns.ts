// Tokens of model calls as columns. Pure.
import type { CompressionTokens, TokenPoint, TokenTimeline, TurnRow } from "../../api/types";

/** Parts of a context, from the bottom of a column to its top. */
export const PARTS = ["system", "tools", "results", "talk"] as const;
export type Part = (typeof PARTS)[number];

/**
 * A call. `parts` null: they are not known. `context` is its size in tokens, null if it is not known; `isEstimated`: the provider
 * did not count it. `sections`: what the part `system` consists of, if the program rendered it of sections. `before` is the context of the same agent's call before it in this page.
 */
export type Column = {
  seq: number;
  turn: number | null;
  actor: string | null;
  model: string | null;
  parts: Readonly<Record<Part, number>> | null;
  sections: readonly { name: string; tokens: number }[];
  context: number | null;
  isEstimated: boolean;
  before: number | null;
  output: number | null;
  cost: number | null;
  cached: number | null;
  limit: number | null;
};

/** A cut of the context, before the column with index `column`. `before` and `after`: contexts of the calls around it. `made`: what it saved, and how it was made. */
export type Cut = {
  seq: number;
  column: number;
  before: number | null;
  after: number | null;
  made: CompressionTokens | null;
};

/** The points of a page as columns, in the order in which the calls began, and the cuts between them. */
export function columnsOf(
  points: readonly TokenPoint[],
  lines: readonly TurnRow[],
): { columns: Column[]; cuts: Cut[] } {
  const turns = new Map(lines.flatMap((line) => (line.kind === "turn" ? [[line.seq, line] as const] : [])));
  const columns: Column[] = [];
  const byCall = new Map<number, Column>();
  const last = new Map<string | null, Column>();
  const cuts: Cut[] = [];
  for (const point of points) {
    if (point.kind === "context_compressed") {
      cuts.push({
        seq: point.seq,
        column: columns.length,
        before: last.get(point.actor)?.context ?? null,
        after: null,
        made: point.compression ?? null,
      });
    } else if (point.kind === "llm_called") {
      const { seq, actor, model, context, limit } = point;
      const split = point.split ?? null;
      const parts = split && {
        system: split.system,
        tools: split.tools,
        results: split.retrieved,
        talk: split.history,
      };
      const column: Column = {
        ...{ seq, actor, model, context, limit, parts, before: last.get(actor)?.context ?? null },
        ...{ turn: turns.get(seq)?.turn ?? null, isEstimated: point.context_basis !== "reported" },
        ...{ sections: split?.sections ?? [], output: split?.output ?? null, cost: null, cached: null },
      };
      for (const cut of cuts)
        if (cut.after === null && cut.column <= columns.length)
          Object.assign(cut, { after: context, column: columns.length });
      columns.push(column);
      byCall.set(seq, column);
      if (turns.get(seq)?.internal !== true) last.set(actor, column); // a summary is written in a context of its own
    } else {
      const column = point.call === null ? undefined : byCall.get(point.call);
      if (column === undefined) continue;
      Object.assign(column, { cost: point.cost, cached: point.cache_hit_share });
      column.output = point.usage["output_tokens"] ?? column.output;
    }
  }
  return { columns, cuts };
}

/** How high the axis is: "peak", or "window" (the model's limit). */
export type Scale = "peak" | "window";

/** Room above the highest column. */
const ABOVE = 1.25;
/** The window is drawn to scale up to so many times the peak, else above a break. */
const NEAR = 2;

/** The tokens at the top of the axis; `isBroken`: the window lies above it. */
export function heightOf(peak: number, limit: number | null, scale: Scale): { top: number; isBroken: boolean } {
  if (scale === "window" && limit !== null) return { top: Math.max(limit, peak) * 1.05, isBroken: false };
  if (limit !== null && limit <= peak * NEAR) return { top: Math.max(limit, peak) * 1.08, isBroken: false };
  return { top: Math.max(1, peak) * ABOVE, isBroken: limit !== null };
}

/** Round numbers of tokens below `most`, 2 to 5 of them. */
export function gridOf(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const step = [power / 5, power / 2, power, power * 2].find((each) => most / each <= 5) ?? power * 5;
  const found: number[] = [];
  for (let tokens = step; tokens < most; tokens += step) if (step >= 1) found.push(Math.round(tokens));
  return found;
}

/** The seq behind which the page of `size` turns begins in which the turn is. */
export function pageOf(
  turns: readonly TurnRow[],
  turn: TurnRow | undefined,
  size: number,
): { first: number; after: number } {
  const here = Math.max(0, turn === undefined ? 0 : turns.indexOf(turn));
  const first = Math.floor(here / size) * size;
  return { first, after: Math.max(0, (turns[first]?.seq ?? 1) - 1) };
}

/** "peak 7,057 of 128,000 at turn 16": the parts of it that are known. */
export function peakOf(
  answer: TokenTimeline,
  lines: readonly TurnRow[],
): { tokens: number | null; limit: number | null; turn: number | null } {
  const { context_peak: tokens, peak_call: call } = answer.totals;
  const limit = answer.models.reduce<number | null>(
    (most, model) => (model.limit === null ? most : Math.max(most ?? 0, model.limit)),
    null,
  );
  return {
    tokens,
    limit,
    turn: call === null ? null : (lines.find((line) => line.kind === "turn" && line.seq === call)?.turn ?? null),
  };
}
