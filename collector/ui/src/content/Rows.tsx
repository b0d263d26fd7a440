// Long texts and bytes as rows, of which only those in view are in the page.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";

import { hexRow, occurrences, pieces, ROW_BYTES, rowOf, rowStarts } from "../model/bytes";
import { count } from "../model/format";
import { Failed } from "../parts/Notices";
import { CHUNK, type ReadText, useChunks } from "./ranges";
import { Said } from "../parts/Said";
import styles from "./Content.module.css";

const ROW_HEIGHT = 19;
const MOST_FOUND = 10_000;
/** Browsers draw no higher elements than this. */
const HIGHEST = 12_000_000;

type TextProps = { text: string; find: string; hit: number; onFound: (count: number) => void; onEnd?: () => void };

/** A text; `hit` counts the occurrences of `find` up, and is brought into view. `onEnd`: the last rows are seen. */
export function TextRows({ text, find, hit, onFound, onEnd }: TextProps) {
  const box = useRef<HTMLDivElement>(null);
  const starts = useMemo(() => rowStarts(text), [text]);
  const found = useMemo(() => occurrences(text, find, MOST_FOUND), [text, find]);
  const rows = Math.max(0, starts.length - 1);
  const list = useVirtualizer({
    count: rows,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20,
  });
  useEffect(() => onFound(found.length), [found.length, onFound]);
  const position = found.length === 0 ? undefined : found[hit % found.length];
  useEffect(() => {
    if (position !== undefined) list.scrollToIndex(rowOf(starts, position), { align: "center" });
  }, [position, list, starts]);
  const items = list.getVirtualItems();
  const isAtEnd = rows > 0 && (items.at(-1)?.index ?? 0) >= rows - 1;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, onEnd, rows]);
  return (
    <div className={styles.rows} ref={box} tabIndex={0} role="region" aria-label="Text">
      <div style={{ height: list.getTotalSize() }}>
        {items.map((item) => (
          <div key={item.key} className={styles.line} style={{ transform: `translateY(${item.start}px)` }}>
            <Pieces text={text.slice(starts[item.index], starts[item.index + 1]).replace(/\r?\n$/, "")} find={find} />
          </div>
        ))}
      </div>
    </div>
  );
}

/** A text with what was searched for, and what is masked, marked. */
export function Pieces({ text, find }: { text: string; find: string }) {
  return pieces(text, find).map((piece, n) =>
    piece.kind === "plain" ? (
      <Said key={n}>{piece.text}</Said>
    ) : piece.kind === "found" ? (
      <mark key={n}>
        <Said>{piece.text}</Said>
      </mark>
    ) : (
      <mark key={n} className={styles.masked} title="masked before it was recorded: the value is not stored">
        {piece.text}
      </mark>
    ),
  );
}

/** Bytes in hex; chunks are fetched when they are looked at. */
export function HexRows({ target, size }: { target: string; size: number }) {
  const box = useRef<HTMLDivElement>(null);
  const { chunk, need, error } = useChunks(target, size);
  const all = Math.ceil(size / ROW_BYTES);
  const rows = Math.min(all, Math.floor(HIGHEST / ROW_HEIGHT));
  const list = useVirtualizer({
    count: rows,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20,
  });
  const items = list.getVirtualItems();
  const first = Math.floor(((items[0]?.index ?? 0) * ROW_BYTES) / CHUNK);
  const last = Math.floor(((items.at(-1)?.index ?? 0) * ROW_BYTES) / CHUNK);
  useEffect(() => {
    if (size > 0) for (let n = first; n <= last; n++) need(n);
  }, [first, last, need, size]);
  if (error !== null) return <Failed error={error} />;
  return (
    <>
      <div className={styles.rows} ref={box} tabIndex={0} role="region" aria-label="Bytes">
        <div style={{ height: list.getTotalSize() }}>
          {items.map((item) => {
            const offset = item.index * ROW_BYTES;
            const bytes = chunk(Math.floor(offset / CHUNK))?.subarray(offset % CHUNK, (offset % CHUNK) + ROW_BYTES);
            return (
              <div key={item.key} className={styles.line} style={{ transform: `translateY(${item.start}px)` }}>
                {bytes === undefined ? `${offset.toString(16).padStart(8, "0")}  …` : hexRow(bytes, offset)}
              </div>
            );
          })}
        </div>
      </div>
      {rows < all && (
        <p className="notice sub">
          The first {count(rows * ROW_BYTES)} of {count(size)} bytes are shown: download it to see all.
        </p>
      )}
    </>
  );
}

/** Reads on while the last rows are in view. */
export const readsOn = (read: ReadText): { onEnd?: () => void } => (read.isWhole ? {} : { onEnd: read.more });
