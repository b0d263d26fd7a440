import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useMemo, useRef, useState } from "react";

import type { Focus } from "../../model/timeline/focus";
import { count, duration } from "../../model/format";
import { type Playhead, useAt } from "../../model/playhead";
import type { Step } from "../../model/steps/steps";
import { placeAt, type Shown } from "../../model/steps/tree";
import { Loading } from "../../parts/Notices";
import { useCollapseKeys, useShownRows } from "./useShownRows";

const ROW = 27;

/** The steps as a tree; only rows in view are in the page. What lies behind the playhead is dimmed. */
export function StepsPanel({
  rows,
  focus,
  head,
  isLoading,
}: {
  rows: readonly Step[];
  focus: Focus | null;
  head: Playhead;
  isLoading: boolean;
}) {
  const at = useAt(head);
  const box = useRef<HTMLDivElement>(null);
  const [found, setFound] = useState("");
  const tree = useShownRows(rows, focus, found);
  const { shown, places, toggle } = tree;
  useCollapseKeys(rows, head, tree);
  const span = useMemo(() => {
    const first = rows[0]?.started ?? 0;
    return { first, ms: rows.reduce((longest, row) => Math.max(longest, (row.ended ?? row.started) - first), 1) };
  }, [rows]);
  const current = useMemo(() => placeAt(shown, places, rows, at), [shown, places, rows, at]);
  const list = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  useEffect(() => {
    if (current >= 0) list.scrollToIndex(current, { align: "auto" });
  }, [current, list]);
  return (
    <>
      <div className="steps-find">
        <input
          className="input"
          placeholder="Search in this run"
          aria-label="Search in this run"
          value={found}
          onChange={(event) => setFound(event.target.value)}
        />
        {tree.hasParents && (
          <button type="button" className="icon" onClick={tree.toggleAll} title="Open or collapse all steps: C">
            {tree.isAllCollapsed ? "open all" : "collapse all"}
          </button>
        )}
      </div>
      {isLoading && <Loading what="the steps" />}
      <div
        className="scroll steps"
        ref={box}
        tabIndex={0}
        role="tree"
        aria-label="Steps"
        aria-activedescendant={current >= 0 ? `step-${shown[current]?.row.seq}` : undefined}
      >
        <div style={{ height: list.getTotalSize() }} role="presentation">
          {list.getVirtualItems().map((item) => {
            const each = shown[item.index];
            return each === undefined ? null : (
              <Row
                key={each.row.seq}
                {...each}
                top={item.start}
                isAt={item.index === current}
                isNext={each.row.seq > at}
                span={span}
                move={head.move}
                toggle={toggle}
              />
            );
          })}
        </div>
      </div>
    </>
  );
}

type RowProps = Shown & {
  top: number;
  isAt: boolean;
  isNext: boolean;
  span: { first: number; ms: number };
  move: (seq: number) => void;
  toggle: (seq: number) => void;
};

const Row = memo(function Row({ row, hasMore, hidden, hiddenFailed, top, isAt, isNext, span, move, toggle }: RowProps) {
  const kind = row.failed ? "failed" : row.kind;
  const isTimed = ["agent", "step", "model", "tool"].includes(row.kind);
  return (
    <div
      id={`step-${row.seq}`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-expanded={hasMore ? hidden === 0 : undefined}
      aria-selected={isAt}
      className={`row ${row.kind} ${row.failed ? "failed" : ""} ${isAt ? "at" : isNext ? "next" : ""}`}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => move(row.target)}
    >
      <span className="n">{row.seq}</span>
      <span
        className={isTimed ? "name" : "name wide"}
        style={{ paddingLeft: Math.min(row.depth, DEEPEST) * INDENT + (hasMore ? 0 : TWIST) }}
        title={row.name}
      >
        {hasMore && (
          <span
            className="twist"
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              toggle(row.seq);
            }}
          >
            {hidden > 0 ? "▸" : "▾"}
          </span>
        )}
        <span className={`k ${kind}`} aria-label={kind} role="img" />
        <span className="said">{row.name}</span>
        {row.tokens !== null && (
          <span className="tok" title={`${count(row.tokens.input)} tokens in, ${count(row.tokens.output)} out`}>
            {count(row.tokens.input)}→{count(row.tokens.output)}
          </span>
        )}
        {hidden > 0 && (
          <span className="tag hidden" title={`${count(hidden)} steps below`}>
            {count(hidden)} <span className="below">below</span>
            {hiddenFailed > 0 && `, ${hiddenFailed} failed`}
          </span>
        )}
      </span>
      {isTimed && <Took row={row} kind={kind} span={span} />}
    </div>
  );
});

const INDENT = 12;
/** The width of what opens and collapses a row: rows without it have no element for it, since moving the playhead draws all of them. */
const TWIST = 14;
const DEEPEST = 8;
const COLOUR: Record<string, string> = { model: "var(--model)", tool: "var(--tool)", failed: "var(--bad)" };

/** When a call ran, as a bar in the run's time, and how long. */
function Took({ row, kind, span }: { row: Step; kind: string; span: RowProps["span"] }) {
  const from = ((row.started - span.first) / span.ms) * 100;
  const width = Math.max(row.ended === null ? 100 - from : ((row.ended - row.started) / span.ms) * 100, 1.5);
  return (
    <>
      <span className="dur">
        <svg viewBox="0 0 100 5" preserveAspectRatio="none" aria-hidden="true">
          <rect x={Math.min(from, 98.5)} width={width} height="5" fill={COLOUR[kind] ?? "var(--faint)"} />
        </svg>
      </span>
      <span className="t">{row.ended === null ? "running" : duration(row.ended - row.started)}</span>
    </>
  );
}
