// The list of runs as a table: only rows in view are drawn, and pages are loaded as they come near.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { Link, useLocation } from "wouter";

import type { RunSummary } from "../api/types";
import { duration, localDateTime, shortId, startedText } from "../model/format";
import { KeptMarks } from "../parts/Kept";
import { Outcome } from "../parts/Outcome";
import { Said } from "../parts/Said";
import { saidPlainly } from "../parts/said";
import { runAddress } from "../parts/TurnLink";
import { useNow } from "../parts/useNow";
import { besideName, cellText, type Column, scoreName } from "./columns";
import type { Order, Sort } from "./query";
import styles from "./RunsPage.module.css";
import { WhatHappened } from "./WhatHappened";

/** Height of a row of one line, in px; rows of several lines are measured. */
const ROW = 30;
/** Rows from the end at which the next page is loaded. */
const NEAR = 30;

type Props = {
  rows: readonly RunSummary[];
  /** All that meet the conditions; null: not counted. */
  total: number | null;
  hasMore: boolean;
  columns: readonly Column[];
  order: Order;
  onSort: (by: Sort) => void;
  chosen: number | null;
  ticked: readonly string[];
  onTick: (run: string) => void;
  onMore: () => void;
  /** Which rows are in view, from the first to the one behind the last. */
  onView: (from: number, to: number) => void;
  /** What scrolls. */
  page: RefObject<HTMLElement | null>;
};

export function RunsTable(props: Props) {
  const { rows, total, hasMore, columns, order, onSort, chosen, ticked, onTick, onMore, onView, page } = props;
  const table = useRef<HTMLTableElement>(null);
  const margin = useOffset(table, page);
  const rowsOf = useVirtualizer({
    count: rows.length,
    getScrollElement: () => page.current,
    getItemKey: (n) => rows[n]?.run ?? n,
    estimateSize: () => ROW,
    overscan: 10,
    scrollMargin: margin,
  });
  const shown = rowsOf.getVirtualItems();
  const [first, last] = [shown[0], shown.at(-1)];
  const [from, to] = [first?.index ?? 0, (last?.index ?? -1) + 1];
  useEffect(() => {
    onView(from, to);
    if (hasMore && to >= rows.length - NEAR) onMore();
  }, [from, to, hasMore, rows.length, onMore, onView]);
  useEffect(() => {
    if (chosen !== null) rowsOf.scrollToIndex(chosen, { align: "auto" });
    // eslint-disable-next-line react-hooks/exhaustive-deps -- only another choice scrolls
  }, [chosen]);
  const now = useNow(rows.slice(from, to).some((run) => isOpen(run)) ? 1_000 : 10_000);
  const across = columns.length + 4;
  return (
    <table ref={table} className={styles.table} aria-rowcount={(total ?? rows.length) + 1}>
      <caption className="visually-hidden">Runs</caption>
      <colgroup>
        <col style={{ width: 30 }} />
        <col style={{ width: 96 }} />
        <col className={styles.nameColumn} />
        <col />
        {columns.map((column) => (
          <col key={column.id} style={{ width: column.width }} />
        ))}
      </colgroup>
      <thead>
        <tr>
          <th>
            <span className="visually-hidden">compare</span>
          </th>
          <SortHeads sorts={[{ by: "attention", label: "outcome" }]} order={order} onSort={onSort} />
          <th>run</th>
          <th>what happened: question, error, first suspect, or last answer</th>
          {columns.map((column) => (
            <SortHeads
              key={column.id}
              className={column.isNumber ? styles.number : styles.words}
              sorts={column.sorts.map((sort) => (sort.by === "score" ? { ...sort, label: scoreName(rows) } : sort))}
              label={column.label}
              order={order}
              onSort={onSort}
            />
          ))}
        </tr>
      </thead>
      <tbody>
        <Space height={(first?.start ?? margin) - margin} across={across} />
        {shown.map(({ index }) => {
          const run = rows[index];
          return run === undefined ? null : (
            <Row
              key={run.run}
              ref={rowsOf.measureElement}
              run={run}
              index={index}
              columns={columns}
              now={now}
              isChosen={index === chosen}
              isTicked={ticked.includes(run.run)}
              onTick={onTick}
            />
          );
        })}
        <Space height={rowsOf.getTotalSize() + margin - (last?.end ?? margin)} across={across} />
      </tbody>
    </table>
  );
}

/** Where an element begins in what scrolls, in px; it moves as what stands above it grows. */
function useOffset(element: RefObject<HTMLElement | null>, page: RefObject<HTMLElement | null>): number {
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => {
    const measure = () => {
      if (element.current === null || page.current === null) return;
      const above = element.current.getBoundingClientRect().top - page.current.getBoundingClientRect().top;
      setOffset(Math.round(above + page.current.scrollTop));
    };
    measure();
    const watch = new ResizeObserver(measure);
    for (const child of page.current?.children ?? []) watch.observe(child);
    return () => watch.disconnect();
  }, [element, page]);
  return offset;
}

function Space({ height, across }: { height: number; across: number }) {
  if (height <= 0) return null;
  return (
    <tr className={styles.space} aria-hidden="true">
      <td colSpan={across} style={{ height }} />
    </tr>
  );
}

type HeadProps = {
  sorts: readonly { by: Sort; label: string }[];
  label?: string;
  order: Order;
  onSort: (by: Sort) => void;
  className?: string | undefined;
};

/** A head of a column; each of its names sorts. */
function SortHeads({ sorts, label, order, onSort, className }: HeadProps) {
  const mine = sorts.find((sort) => sort.by === order.by);
  return (
    <th
      className={className}
      scope="col"
      aria-sort={mine === undefined ? undefined : order.isAscending ? "ascending" : "descending"}
    >
      {sorts.length === 0
        ? label
        : sorts.map((sort, n) => (
            <span key={sort.by}>
              {n > 0 && " / "}
              <button type="button" onClick={() => onSort(sort.by)} title={`Sort by ${sort.label}`}>
                {sort.label}
                {sort === mine && <span aria-hidden="true"> {order.isAscending ? "↑" : "↓"}</span>}
              </button>
            </span>
          ))}
    </th>
  );
}

const isOpen = ({ outcome: { word } }: RunSummary): boolean => word === "running" || word === "waiting";

type RowProps = {
  ref: (row: HTMLTableRowElement | null) => void;
  run: RunSummary;
  index: number;
  columns: readonly Column[];
  now: number;
  isChosen: boolean;
  isTicked: boolean;
  onTick: (run: string) => void;
};

/** A row opens its run, wherever it is pressed; what happened opens its moment. */
function Row({ ref, run, index, columns, now, isChosen, isTicked, onTick }: RowProps) {
  const [, go] = useLocation();
  const name = saidPlainly(`${run.name ?? "run"} ${shortId(run.run)}`);
  const open = (event: { target: EventTarget; metaKey: boolean; ctrlKey: boolean }) => {
    if (event.target instanceof Element && event.target.closest("a, button, input, label") !== null) return;
    if (getSelection()?.type === "Range") return; // somebody selects a text
    if (event.metaKey || event.ctrlKey) window.open(`.${runAddress(run.run)}`);
    else go(runAddress(run.run));
  };
  return (
    <tr ref={ref} data-index={index} aria-rowindex={index + 2} className={isChosen ? styles.chosen : ""} onClick={open}>
      <td>
        <label className={styles.tick}>
          <input
            type="checkbox"
            checked={isTicked}
            onChange={() => onTick(run.run)}
            aria-label={`Compare ${name}`}
            title="Tick two runs to compare them"
          />
        </label>
      </td>
      <td className={styles.outcome} title={run.outcome.because}>
        <Outcome word={run.outcome.word} />
      </td>
      <td className={styles.name} title={run.run}>
        <Link href={runAddress(run.run)} onKeyDown={(event: KeyboardEvent) => event.stopPropagation()}>
          <Said>{run.name ?? "unnamed"}</Said>
        </Link>{" "}
        <Said className="ink-faint">{besideName(run)}</Said>
        <KeptMarks run={run} />
      </td>
      <td className={styles.happened}>
        <WhatHappened run={run} />
      </td>
      {columns.map((column) => (
        <Cell key={column.id} column={column} run={run} now={now} />
      ))}
    </tr>
  );
}

function Cell({ column, run, now }: { column: Column; run: RunSummary; now: number }) {
  const className = `${styles[column.id] ?? ""} ${column.isNumber ? styles.number : styles.words}`;
  switch (column.id) {
    case "score":
      return (
        <td
          className={className}
          title={saidPlainly(run.scored.map(({ name, value }) => `${name}: ${value}`).join("\n"))}
        >
          <Score run={run} />
        </td>
      );
    case "started":
      return (
        <td className={className} title={`${localDateTime(run.started)} · ${run.started} (UTC)`}>
          {startedText(run.started, now)}
        </td>
      );
    case "took":
      return (
        <td className={className}>
          {duration(run.ended === null && isOpen(run) ? Math.max(0, now - Date.parse(run.started)) : run.elapsed_ms)}
        </td>
      );
    default:
      return (
        <td className={className} title={column.isNumber ? undefined : saidPlainly(cellText(column.id, run))}>
          <Said>{cellText(column.id, run)}</Said>
        </td>
      );
  }
}

/** The newest score of the run; red where it is why the run has failed. */
function Score({ run }: { run: RunSummary }) {
  const score = run.scored[0];
  if (score === undefined) return <span className="ink-faint">—</span>;
  const text = String(score.value);
  return <Said className={run.outcome.word === "failed" ? "ink-bad" : ""}>{text}</Said>;
}
