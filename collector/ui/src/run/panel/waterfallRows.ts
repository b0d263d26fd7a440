// The calls of a run as rows of a waterfall: each below the call that made it, those that raised first. Pure.
import type { TimedCall } from "../../api/types";

export const FILTERS = ["path", "all", "long"] as const;
/** Which rows are shown: those for which the run waited, all, or those of more than a second. */
export type Filter = (typeof FILTERS)[number];
export const LONG_MS = 1_000;

/** `hasMore`: rows are below it. `hidden`: how many of them are not shown because it is collapsed. */
export type WaterfallRow = { call: TimedCall; depth: number; hasMore: boolean; hidden: number };

const took = (call: TimedCall) => call.elapsed_ms ?? Infinity;

export function isShown(call: TimedCall, filter: Filter): boolean {
  return filter === "all" || (filter === "path" ? call.on_path : took(call) > LONG_MS);
}

/** Rows of the calls that the filter lets through; a call whose parent is left out stands below the next one that is not. */
export function waterfallRows(
  calls: readonly TimedCall[],
  filter: Filter,
  collapsed: ReadonlySet<number>,
): WaterfallRow[] {
  const bySeq = new Map(calls.map((call) => [call.seq, call]));
  const shown = calls.filter((call) => isShown(call, filter));
  const kept = new Set(shown.map((call) => call.seq));
  const below = new Map<number | null, TimedCall[]>();
  for (const call of shown) {
    let parent = call.parent;
    while (parent !== null && !kept.has(parent)) parent = bySeq.get(parent)?.parent ?? null;
    const siblings = below.get(parent);
    if (siblings === undefined) below.set(parent, [call]);
    else siblings.push(call);
  }
  const rows: WaterfallRow[] = [];
  const add = (parent: number | null, depth: number, closed: WaterfallRow | null) => {
    for (const call of raisedFirst(below.get(parent) ?? [])) {
      const row = { call, depth, hasMore: below.has(call.seq), hidden: 0 };
      if (closed === null) rows.push(row);
      else closed.hidden += 1;
      if (row.hasMore) add(call.seq, depth + 1, closed ?? (collapsed.has(call.seq) ? row : null));
    }
  };
  add(null, 0, null);
  return rows;
}

/** Of agents beside each other, those that raised come first: they are what is looked for. Calls of models and tools stay in their order. */
function raisedFirst(calls: readonly TimedCall[]): readonly TimedCall[] {
  const isRaised = (call: TimedCall) => call.kind === "agent" && call.status === "failed";
  if (!calls.every((call) => call.kind === "agent") || !calls.some(isRaised)) return calls;
  return [...calls.filter(isRaised), ...calls.filter((call) => !isRaised(call))];
}

/** The index of the row of an event: the call that begins or ends there, else the last that had begun and is a model's or a tool's; -1: none. */
export function rowAt(rows: readonly WaterfallRow[], at: number): number {
  const exact = rows.findIndex(({ call }) => call.seq === at || call.ended_seq === at);
  if (exact >= 0) return exact;
  let found = -1;
  rows.forEach(({ call }, n) => {
    if (call.seq <= at && (call.kind === "model" || call.kind === "tool") && call.seq > (rows[found]?.call.seq ?? 0))
      found = n;
  });
  return found;
}
