// Rows of steps as a tree: each below the call that made it, and without what is below a collapsed one. Pure.
import { rowAt, type Step } from "./steps";

/** A row that is shown, and how many below it are not: it is collapsed then. `hasMore`: rows are below it. */
export type Shown = { row: Step; hasMore: boolean; hidden: number; hiddenFailed: number };

/** Each row after the one that it is below, siblings in the order in which they began. A row whose parent is missing is at the top. */
export function inTreeOrder(rows: readonly Step[]): readonly Step[] {
  if (isInTreeOrder(rows)) return rows;
  const known = new Set(rows.map((row) => row.seq));
  const below = new Map<number | null, Step[]>();
  for (const row of rows) {
    const parent = row.parent !== null && known.has(row.parent) ? row.parent : null;
    const siblings = below.get(parent);
    if (siblings === undefined) below.set(parent, [row]);
    else siblings.push(row);
  }
  const ordered: Step[] = [];
  const waiting = (below.get(null) ?? []).toReversed();
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    ordered.push(row);
    waiting.push(...(below.get(row.seq) ?? []).toReversed());
  }
  return ordered;
}

/** Without parallel calls, the order in which rows began is the tree's. */
function isInTreeOrder(rows: readonly Step[]): boolean {
  const path: number[] = [];
  for (const row of rows) {
    while (path.length > 0 && path.at(-1) !== row.parent) path.pop();
    if (path.length === 0 && row.parent !== null) return false;
    path.push(row.seq);
  }
  return true;
}

/** The rows (in tree order) that are not below a collapsed one. */
export function withoutCollapsed(rows: readonly Step[], collapsed: ReadonlySet<number>): Shown[] {
  const shown: Shown[] = [];
  let closed: Shown | null = null;
  rows.forEach((row, n) => {
    if (closed !== null && row.depth > closed.row.depth) {
      closed.hidden += 1;
      if (row.failed) closed.hiddenFailed += 1;
      return;
    }
    const here: Shown = { row, hasMore: rows[n + 1]?.parent === row.seq, hidden: 0, hiddenFailed: 0 };
    closed = here.hasMore && collapsed.has(row.seq) ? here : null;
    shown.push(here);
  });
  return shown;
}

/** The rows below which others are. */
export function parents(rows: readonly Step[]): ReadonlySet<number> {
  const found = new Set<number>();
  for (const row of rows) if (row.parent !== null) found.add(row.parent);
  return found;
}

/**
 * The index in `shown` of the row in which the playhead stands, or of the nearest one above it that is shown. `rows`: all
 * of them, in the order in which they began. Where none is shown, the last that is shown before; -1: none.
 */
export function placeAt(
  shown: readonly Shown[],
  places: ReadonlyMap<number, number>,
  rows: readonly Step[],
  at: number,
): number {
  let row = rows[rowAt(rows, at)];
  while (row !== undefined) {
    const place = places.get(row.seq);
    if (place !== undefined) return place;
    row = row.parent === null ? undefined : rows[rowAt(rows, row.parent, false)];
  }
  return shown.findLastIndex((each) => each.row.seq <= at);
}

/** The row that is opened or collapsed from here: this one, or the one that it is below; null: neither has rows below. */
export function toggled(rows: readonly Step[], all: ReadonlySet<number>, at: number): number | null {
  const row = rows[rowAt(rows, at)];
  if (row === undefined) return null;
  return all.has(row.seq) ? row.seq : row.parent;
}
