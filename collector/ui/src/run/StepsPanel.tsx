import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useMemo, useRef, useState } from "react";

import { duration } from "../model/format";
import { type Playhead, useAt } from "../model/playhead";
import { rowAt, type Step } from "../model/steps";

const ROW = 27;

/** The steps as a tree; only rows in view are in the page. What lies behind the playhead is dimmed. */
export function StepsPanel({ rows, head }: { rows: readonly Step[]; head: Playhead }) {
  const at = useAt(head);
  const box = useRef<HTMLDivElement>(null);
  const [found, setFound] = useState("");
  const shown = useMemo(() => {
    const wanted = found.trim().toLowerCase();
    return wanted === "" ? rows : rows.filter((row) => row.name.toLowerCase().includes(wanted));
  }, [rows, found]);
  const span = useMemo(() => {
    const first = rows[0]?.started ?? 0;
    return { first, ms: rows.reduce((longest, row) => Math.max(longest, (row.ended ?? row.started) - first), 1) };
  }, [rows]);
  const current = useMemo(() => rowAt(shown, at), [shown, at]);
  const list = useVirtualizer({ count: shown.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 12 });
  useEffect(() => {
    if (current >= 0) list.scrollToIndex(current, { align: "auto" });
  }, [current, list]);
  return (
    <>
      <input className="input" style={{ margin: 6 }} placeholder="Search in this run" aria-label="Search in this run" value={found} onChange={(event) => setFound(event.target.value)} />
      <div className="scroll steps" ref={box} tabIndex={0} role="listbox" aria-label="Steps" aria-activedescendant={current >= 0 ? `step-${shown[current]?.seq}` : undefined}>
        <div style={{ height: list.getTotalSize() }} role="presentation">
          {list.getVirtualItems().map((item) => {
            const row = shown[item.index];
            return row === undefined ? null : (
              <Row key={row.seq} row={row} top={item.start} isAt={item.index === current} isNext={row.seq > at} span={span} move={head.move} />
            );
          })}
        </div>
      </div>
    </>
  );
}

type RowProps = { row: Step; top: number; isAt: boolean; isNext: boolean; span: { first: number; ms: number }; move: (seq: number) => void };

const Row = memo(function Row({ row, top, isAt, isNext, span, move }: RowProps) {
  const from = ((row.started - span.first) / span.ms) * 100;
  const width = Math.max(row.ended === null ? 100 - from : ((row.ended - row.started) / span.ms) * 100, 1.5);
  const kind = row.failed ? "failed" : row.kind;
  const isTimed = ["agent", "step", "model", "tool"].includes(row.kind);
  return (
    <div
      id={`step-${row.seq}`}
      role="option"
      aria-selected={isAt}
      className={`row ${row.kind} ${row.failed ? "failed" : ""} ${isAt ? "at" : isNext ? "next" : ""}`}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => move(row.target)}
    >
      <span className="n">{row.seq}</span>
      <span className={`k ${kind}`} aria-label={kind} role="img" />
      <span className="name" style={{ paddingLeft: row.depth * 10 }} title={row.name}>{row.name}</span>
      <span className={isTimed ? "dur" : "dur none"}>
        {isTimed && (
          <svg viewBox="0 0 100 5" preserveAspectRatio="none" aria-hidden="true">
            <rect x={Math.min(from, 98.5)} width={width} height="5" fill={COLOUR[kind] ?? "var(--faint)"} />
          </svg>
        )}
      </span>
      <span className="t">{isTimed ? (row.ended === null ? "running" : duration(row.ended - row.started)) : ""}</span>
    </div>
  );
});

const COLOUR: Record<string, string> = { model: "var(--model)", tool: "var(--tool)", failed: "var(--bad)" };
