// Both runs on one axis: what they have in common as one block, then a column for each aligned pair of calls.
import { type ReactNode, useEffect, useRef } from "react";

import type { CallPair, Comparison } from "../api/types";
import { count } from "../model/format";
import { isTyping } from "../parts/TopBar";
import { useKeyPress } from "../parts/useKeyPress";

const WORDS: Record<string, string> = {
  same: "equal",
  changed: "changed",
  only_a: "only in the first",
  only_b: "only in the second",
};
const SIGNS: Record<string, string> = { same: "=", changed: "≠", only_a: "−", only_b: "+" };

type Props = { data: Comparison; at: number; labels: readonly [ReactNode, ReactNode]; onMove: (pair: number) => void };

/** One playhead for both: a click, ← and → move it to another pair. */
export function Tracks({ data, at, labels, onMove }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useKeyPress((event) => {
    if (
      isTyping(event) ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.shiftKey ||
      document.querySelector("dialog[open]")
    )
      return;
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    onMove(Math.max(0, Math.min(data.items.length - 1, at + by)));
  });
  useEffect(() => box.current?.children[at]?.scrollIntoView({ block: "nearest", inline: "nearest" }), [at]);
  const { common } = data;
  return (
    <div className="tracks">
      <div className="names" aria-hidden="true">
        <span>{labels[0]}</span>
        <span>{labels[1]}</span>
      </div>
      {common.calls > 0 && (
        <div className="fold" title="What both runs did, folded">
          = {count(common.calls)} equal {common.calls === 1 ? "call" : "calls"}
        </div>
      )}
      <div className="pairs" ref={box} role="group" aria-label="Aligned calls">
        {data.items.map((pair, n) => (
          <Column key={n} pair={pair} n={n} isAt={n === at} onMove={onMove} />
        ))}
      </div>
    </div>
  );
}

function Column({
  pair,
  n,
  isAt,
  onMove,
}: {
  pair: CallPair;
  n: number;
  isAt: boolean;
  onMove: (pair: number) => void;
}) {
  const name = `${pair.a?.name ?? pair.b?.name ?? pair.a?.kind ?? pair.b?.kind ?? "call"}, ${WORDS[pair.op] ?? pair.op}`;
  return (
    <button type="button" className={`pair-at ${pair.op}`} aria-pressed={isAt} title={name} onClick={() => onMove(n)}>
      <span className="visually-hidden">
        Pair {n + 1}: {name}:{" "}
      </span>
      {[pair.a, pair.b].map((call, side) => (
        <span
          key={side}
          className={`at ${call === null ? "none" : call.status === "failed" ? "failed" : call.kind === "llm" ? "model" : call.kind}`}
        >
          {call === null ? "" : (call.name ?? call.kind)}
        </span>
      ))}
      <span className="sign">{SIGNS[pair.op] ?? "?"}</span>
    </button>
  );
}
