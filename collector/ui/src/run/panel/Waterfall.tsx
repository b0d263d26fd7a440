// The calls of a run one below the other, with how long they took: nested as recorded, the longest path dark.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";

import type { TimedCall, TurnRow, Waterfall as Answer } from "../../api/types";
import { count, duration } from "../../model/format";
import { CallLine } from "../../parts/CallLine";
import { Empty } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import type { Range } from "../page";
import { InBar } from "./InBar";
import { endOf, type Moments, msOf } from "./lanes";
import panelStyles from "./Panel.module.css";
import { axisTime, ledTo, type Named, namedBy, shownCall } from "./said";
import { position, ticks, timeAxis, type TimeAxis } from "./timeAxis";
import styles from "./Waterfall.module.css";
import { type Filter, FILTERS, isShown, rowAt, type WaterfallRow, waterfallRows } from "./waterfallRows";

const ROW = 20;
const INDENT = 16;
const TICKS = 5;

type Props = {
  calls: readonly TimedCall[];
  path: Answer["path"] | null;
  rows: readonly TurnRow[];
  at: number;
  known: number;
  range: Range | null;
  moments: Moments;
  onGo: (seq: number) => void;
  onRange: (range: Range | null) => void;
};

export function Waterfall({ calls, path, rows: lines, at, known, range, moments, onGo, onRange }: Props) {
  const [filter, setFilter] = useState<Filter>("all");
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(new Set());
  const rows = useMemo(() => waterfallRows(calls, filter, collapsed), [calls, filter, collapsed]);
  const named = useMemo(() => namedBy(lines), [lines]);
  const axis = useMemo(() => {
    const [from, to] = range === null ? [0, known] : [msOf(moments, range.from), msOf(moments, range.to)];
    return timeAxis([{ start: from, end: to }], from, to); // nested bars stand for each other's time: nothing is folded
  }, [range, known, moments]);
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const here = rowAt(rows, at);
  useEffect(() => {
    if (here >= 0) list.scrollToIndex(here, { align: "auto" });
  }, [here, list]);
  const turn = (seq: number) =>
    setCollapsed((before) =>
      before.has(seq) ? new Set([...before].filter((each) => each !== seq)) : new Set([...before, seq]),
    );
  const zoom = ({ call }: WaterfallRow) =>
    onRange({ from: call.seq, to: Math.max(call.seq + 1, call.ended_seq ?? at) });
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[here];
    const to = {
      ArrowDown: here + 1,
      ArrowUp: here - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: here + 10,
      PageUp: here - 10,
    }[event.key];
    if (to !== undefined) {
      const next = rows[Math.max(0, Math.min(rows.length - 1, to))];
      if (next !== undefined) onGo(next.call.seq);
    } else if (row === undefined) return;
    else if (event.key === "z") zoom(row);
    else if (event.key === "ArrowLeft" && row.hasMore && !collapsed.has(row.call.seq)) turn(row.call.seq);
    else if (event.key === "ArrowLeft" && row.call.parent !== null) onGo(row.call.parent);
    else if (event.key === "ArrowRight" && collapsed.has(row.call.seq)) turn(row.call.seq);
    else if (event.key === "ArrowRight" && row.hasMore) onGo(rows[here + 1]?.call.seq ?? at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <InBar>
        {path !== null && <Said>{saidOfPath(path)}</Said>}
        <Filters filter={filter} onFilter={setFilter} calls={calls} />
      </InBar>
      {rows.length === 0 ? (
        <Empty>{calls.length === 0 ? "Nothing was called in this run." : "No call is of this kind."}</Empty>
      ) : (
        <div
          ref={box}
          className={styles.box}
          role="tree"
          aria-label="Calls in time"
          tabIndex={0}
          aria-activedescendant={here < 0 ? undefined : `fall-${rows[here]?.call.seq}`}
          onKeyDown={press}
        >
          <div className={styles.head} aria-hidden="true">
            <span>what</span>
            <span className={styles.scale}>
              {ticks(axis, TICKS).map((ms) => (
                <span key={ms} style={{ left: `${position(axis, ms) * 100}%` }}>
                  {axisTime(ms)}
                </span>
              ))}
            </span>
            <span className={styles.value}>took</span>
            <span className={styles.value}>own</span>
          </div>
          <div role="presentation" style={{ height: list.getTotalSize(), position: "relative" }}>
            {list.getVirtualItems().map(({ index, start }) => {
              const row = rows[index];
              return (
                row !== undefined && (
                  <Row
                    key={row.call.seq}
                    row={row}
                    top={start}
                    axis={axis}
                    known={known}
                    named={named}
                    isHere={index === here}
                    isCollapsed={collapsed.has(row.call.seq)}
                    onGo={onGo}
                    onTurn={turn}
                    onZoom={() => zoom(row)}
                  />
                )
              );
            })}
          </div>
        </div>
      )}
    </>
  );
}

/** "the longest path is performance, 9.9 s: model 6.9 s, tools 2.9 s" */
function saidOfPath(path: Answer["path"]): string {
  const through =
    path.agents.length === 1
      ? ` is ${path.agents[0]}`
      : path.agents.length > 1
        ? ` goes through ${count(path.agents.length)} agents`
        : "";
  return `the longest path${through}, ${duration(path.elapsed_ms)}: model ${duration(path.model_ms)}, tools ${duration(path.tool_ms)}`;
}

const LABELS: Readonly<Record<Filter, string>> = { path: "longest path", all: "all", long: "over 1 s" };

function Filters({
  filter,
  onFilter,
  calls,
}: {
  filter: Filter;
  onFilter: (filter: Filter) => void;
  calls: readonly TimedCall[];
}) {
  return (
    <span className={panelStyles.switch} role="group" aria-label="Rows">
      {FILTERS.map((each) => (
        <button key={each} type="button" aria-pressed={each === filter} onClick={() => onFilter(each)}>
          {LABELS[each]} {count(calls.filter((call) => isShown(call, each)).length)}
        </button>
      ))}
    </span>
  );
}

type RowProps = {
  row: WaterfallRow;
  top: number;
  axis: TimeAxis;
  known: number;
  named: Named;
  isHere: boolean;
  isCollapsed: boolean;
  onGo: (seq: number) => void;
  onTurn: (seq: number) => void;
  onZoom: () => void;
};

function Row({ row, top, axis, known, named, isHere, isCollapsed, onGo, onTurn, onZoom }: RowProps) {
  const { call, depth, hasMore, hidden } = row;
  const isFailed = call.status === "failed";
  const classes = [styles.row, isHere && styles.here, call.on_path && styles.path, isFailed && styles.failed]
    .filter(Boolean)
    .join(" ");
  return (
    <div
      id={`fall-${call.seq}`}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isHere}
      aria-expanded={hasMore ? !isCollapsed : undefined}
      className={classes}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onGo(call.seq)}
      onDoubleClick={onZoom}
    >
      <span className={styles.name} style={{ paddingLeft: 6 + depth * INDENT }}>
        {hasMore && (
          <span
            className={styles.turn}
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              onTurn(call.seq);
            }}
          >
            {isCollapsed ? "▸" : "▾"}
          </span>
        )}
        <Name call={call} named={named} />
        {hidden > 0 && <span className="sub"> {count(hidden)} below</span>}
        {isFailed && (
          <>
            <span aria-hidden="true"> ✕</span>
            <span className="visually-hidden"> failed</span>
          </>
        )}
      </span>
      <span className={styles.track}>
        <BarOf call={call} axis={axis} known={known} />
      </span>
      <span className={styles.value}>{call.elapsed_ms === null ? "under way" : duration(call.elapsed_ms)}</span>
      <span className={styles.value}>{hasMore && call.own_ms !== null ? duration(call.own_ms) : ""}</span>
    </div>
  );
}

function Name({ call, named }: { call: TimedCall; named: Named }) {
  if (call.kind === "tool") {
    const tool = named.tools.get(call.seq);
    return tool === undefined ? (
      <Said className="ink-tool">{call.name}</Said>
    ) : (
      <CallLine call={{ ...tool, status: "" }} />
    );
  }
  if (call.kind === "model") {
    const led = ledTo(call, named);
    return (
      <>
        <code>
          <Said className="ink-model">{call.name}</Said>
        </code>{" "}
        {led !== null &&
          ("call" in led ? (
            <>
              → <Said>{shownCall(led.call)}</Said>
            </>
          ) : (
            led.text
          ))}
      </>
    );
  }
  return (
    <b>
      <Said>{call.name}</Said>
    </b>
  );
}

function BarOf({ call, axis, known }: { call: TimedCall; axis: TimeAxis; known: number }) {
  const [left, right] = [position(axis, call.started_ms), position(axis, endOf(call, known))];
  if (right < 0 || left > 1) return null;
  const [from, to] = [Math.max(0, left), Math.min(1, right)];
  const said = saidBeside(call);
  const isLate = to > 0.7; // beside the bar on the left, where there is room
  return (
    <>
      <i
        className={[
          styles.bar,
          styles[call.kind],
          call.status === "failed" && styles.bad,
          call.status === "open" && styles.open,
        ]
          .filter(Boolean)
          .join(" ")}
        style={{ left: `${from * 100}%`, width: `max(2px, ${(to - from) * 100}%)` }}
      />
      {said !== null && (
        <em
          className={call.status === "failed" ? "ink-bad" : ""}
          style={isLate ? { right: `${(1 - from) * 100}%` } : { left: `${to * 100}%` }}
        >
          {said}
        </em>
      )}
    </>
  );
}

/** What ended without effect says so. */
function saidBeside(call: TimedCall): string | null {
  if (call.lost) return "finished, its answer was lost";
  if (call.status === "cancelled") return "cancelled";
  const isInnermost = call.kind === "model" || call.kind === "tool";
  return call.status === "failed" && isInnermost
    ? `${call.error ?? "failed"} after ${duration(call.elapsed_ms)}`
    : null;
}
