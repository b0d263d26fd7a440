// The pairs of calls as lines, only those in view in the page. One tab stop; ↑ ↓ (or k j) go to another pair.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useRef, useSyncExternalStore } from "react";

import type { CallPair, ComparedCall } from "../api/types";
import { Said } from "../parts/Said";
import { saidPlainly } from "../parts/said";
import { pairWord, sideLine } from "./pairs";
import styles from "./PairList.module.css";

const ROW_PX = 28;
const NARROW = "(max-width: 760px)";
/** On a narrow page a pair has two lines. */
const NARROW_ROW_PX = 48;
const AROUND = 10;
/** Rows before the end at which more are asked for. */
const NEAR_END = 50;

type Props = {
  items: readonly CallPair[];
  /** Numbers of the pairs that are shown. */
  shown: readonly number[];
  at: number;
  /** The number of the first pair in which they did something else, which is marked. */
  first: number;
  onMove: (to: number) => void;
  /** Called when the end is near. */
  onEnd: () => void;
};

export function PairList({ items, shown, at, first, onMove, onEnd }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const place = shown.findIndex((n) => n >= at);
  const here = place < 0 ? shown.length - 1 : place;
  const height = useMatch(NARROW) ? NARROW_ROW_PX : ROW_PX;
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: AROUND,
  });
  useEffect(() => rows.measure(), [height, rows]);
  const isFocused = useRef(false);
  useEffect(() => {
    if (here >= 0) rows.scrollToIndex(here);
    if (isFocused.current) requestAnimationFrame(() => row(box.current, here)?.focus());
  }, [here, rows]);
  const last = rows.getVirtualItems().at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= shown.length - NEAR_END) onEnd();
  }, [last, onEnd, shown.length]);
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowDown: here + 1, j: here + 1, ArrowUp: here - 1, k: here - 1, Home: 0, End: shown.length - 1 }[
      event.key
    ];
    const number = to === undefined ? undefined : shown[Math.max(0, Math.min(shown.length - 1, to))];
    if (number === undefined) return;
    event.preventDefault();
    onMove(number);
  };
  return (
    <div
      className={styles.grid}
      role="grid"
      aria-label="Calls in pairs"
      aria-rowcount={shown.length + 1}
      onKeyDown={press}
      onFocus={() => (isFocused.current = true)}
      onBlur={() => (isFocused.current = false)}
    >
      <div className={`${styles.row ?? ""} ${styles.names ?? ""}`} role="row" aria-rowindex={1}>
        <span role="columnheader">turn</span>
        <span role="columnheader">A</span>
        <span role="columnheader">
          <span className="visually-hidden">how they compare</span>
        </span>
        <span role="columnheader">turn</span>
        <span role="columnheader">B</span>
      </div>
      <div className={styles.scroll} ref={box} role="rowgroup">
        <div role="presentation" style={{ height: rows.getTotalSize(), position: "relative" }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const number = shown[index] ?? 0;
            const pair = items[number];
            return pair === undefined ? null : (
              <Row
                key={number}
                pair={pair}
                index={index}
                top={start}
                height={height}
                isAt={index === here}
                isFirst={number === first && pair.op !== "same"}
                onGo={() => onMove(number)}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** Whether the page fits a media query, now and when it changes. */
function useMatch(query: string): boolean {
  return useSyncExternalStore(
    (changed) => {
      const media = matchMedia(query);
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    () => matchMedia(query).matches,
  );
}

const row = (box: HTMLElement | null, index: number): HTMLElement | null =>
  box?.querySelector<HTMLElement>(`[aria-rowindex="${index + 2}"]`) ?? null;

type RowProps = {
  pair: CallPair;
  index: number;
  top: number;
  height: number;
  isAt: boolean;
  isFirst: boolean;
  onGo: () => void;
};

function Row({ pair, index, top, height, isAt, isFirst, onGo }: RowProps) {
  const { sign, word } = pairWord(pair);
  const look = [styles.row, styles.pair, styles[`op_${pair.op}`], isAt ? styles.at : ""].filter(Boolean).join(" ");
  return (
    <div
      className={look}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isAt}
      tabIndex={isAt ? 0 : -1}
      style={{ transform: `translateY(${top}px)`, height }}
      onClick={onGo}
    >
      <span className={styles.turn} role="gridcell">
        {pair.a?.turn ?? ""}
      </span>
      <Side call={pair.a} />
      <span className={styles.word} role="gridcell">
        <b aria-hidden="true">{sign}</b>
        <span>{word}</span>
        {isFirst && <span className="tag play">they part</span>}
      </span>
      <span className={styles.turn} role="gridcell">
        {pair.b?.turn ?? ""}
      </span>
      <Side call={pair.b} />
    </div>
  );
}

function Side({ call }: { call: ComparedCall | null }) {
  if (call === null)
    return (
      <span className={styles.side} role="gridcell">
        –
      </span>
    );
  const line = sideLine(call);
  return (
    <span className={styles.side} role="gridcell" title={saidPlainly(call.shown)}>
      {line.before}
      {line.code !== null && (
        <code>
          <Said>{line.code}</Said>
        </code>
      )}
      <Said>{line.text}</Said>
    </span>
  );
}
