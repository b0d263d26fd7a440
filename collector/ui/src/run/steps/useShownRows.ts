// Which rows of the steps are shown: in tree order, in focus, found by the search, and not below a collapsed one.
import { useCallback, useMemo, useState } from "react";

import type { Focus } from "../../model/timeline/focus";
import type { Playhead } from "../../model/playhead";
import type { Step } from "../../model/steps/steps";
import { inTreeOrder, parents, type Shown, toggled, withoutCollapsed } from "../../model/steps/tree";
import { isTyping } from "../../parts/TopBar";
import { useKeyPress } from "../../parts/useKeyPress";

const NONE: ReadonlySet<number> = new Set();

export type ShownRows = {
  shown: readonly Shown[];
  /** The index of each shown row, by its seq. */
  places: ReadonlyMap<number, number>;
  hasParents: boolean;
  isAllCollapsed: boolean;
  toggle: (seq: number) => void;
  toggleAll: () => void;
};

/** `rows` in the order in which they began. While something is searched, nothing is collapsed. */
export function useShownRows(rows: readonly Step[], focus: Focus | null, search: string): ShownRows {
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(NONE);
  const inFocus = useMemo(() => {
    const all = inTreeOrder(rows);
    return focus === null ? all : all.filter((row) => row.seq >= focus.from && row.seq <= focus.to);
  }, [rows, focus]);
  const openable = useMemo(() => parents(inFocus), [inFocus]);
  const shown = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    if (wanted === "") return withoutCollapsed(inFocus, collapsed);
    return withoutCollapsed(
      inFocus.filter((row) => row.name.toLowerCase().includes(wanted)),
      NONE,
    ).map((each) => ({ ...each, hasMore: false }));
  }, [inFocus, search, collapsed]);
  const places = useMemo(() => new Map(shown.map((each, n) => [each.row.seq, n])), [shown]);
  const toggle = useCallback(
    (seq: number) => setCollapsed((before) => (before.has(seq) ? without(before, seq) : new Set(before).add(seq))),
    [],
  );
  // Each move of the playhead draws the steps again: what grows with the run is counted only when it changes.
  const isAllCollapsed = useMemo(
    () => openable.size > 0 && [...openable].every((seq) => collapsed.has(seq)),
    [openable, collapsed],
  );
  const toggleAll = () => setCollapsed(isAllCollapsed ? NONE : openable);
  return { shown, places, hasParents: openable.size > 0, isAllCollapsed, toggle, toggleAll };
}

function without(all: ReadonlySet<number>, seq: number): ReadonlySet<number> {
  const rest = new Set(all);
  rest.delete(seq);
  return rest;
}

/** `c` collapses or opens the step at the playhead, `C` all of them. */
export function useCollapseKeys(rows: readonly Step[], head: Playhead, { toggle, toggleAll }: ShownRows): void {
  useKeyPress((event) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
      return;
    if (event.key === "C") toggleAll();
    const seq = event.key === "c" ? toggled(rows, parents(rows), head.at) : null;
    if (seq !== null) toggle(seq);
  });
}
