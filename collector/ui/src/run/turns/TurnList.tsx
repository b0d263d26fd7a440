// The turns of a run as lines: what was said and called, the user's words between, agents as headings.
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, type KeyboardEvent, useEffect, useMemo, useRef } from "react";

import type { TurnRow } from "../../api/types";
import { count, duration } from "../../model/format";
import { plainLine } from "../../model/plainLine";
import { Loading } from "../../parts/Notices";
import { Rank } from "../../parts/Rank";
import { Said } from "../../parts/Said";
import { useOnPage } from "../OnPage";
import { type ListedRow, listed, type Mark, targetOf } from "./rows";
import styles from "./TurnList.module.css";

const ROW_PX = 27;
const INDENT_PX = 14;
const DEEPEST = 6;

type Props = {
  at: number;
  turn: TurnRow | undefined;
  isWhole: boolean;
  isLive: boolean;
  following: boolean;
  onFollow: (on: boolean) => void;
  onFind: () => void;
};

export function TurnList({ at, turn, isWhole, isLive, following, onFollow, onFind }: Props) {
  const { run, turns, rows } = useOnPage();
  return (
    <nav className={styles.turns} aria-label="Turns">
      <div className={styles.bar}>
        <b>Turns</b>{" "}
        <span className={styles.of}>
          <Said>{describe(turns, run.models)}</Said>
          {!isWhole && rows.length > 0 && " …"}
        </span>
        <span className={styles.right}>
          {isLive && (
            <label className={styles.follow}>
              <input type="checkbox" checked={following} onChange={(event) => onFollow(event.target.checked)} /> follow
            </label>
          )}
          <button type="button" className="button quiet" onClick={onFind} title="Find in this run">
            Find <kbd>f</kbd>
          </button>
        </span>
      </div>
      {rows.length === 0 && !isWhole ? <Loading what="the turns" /> : <TurnRows at={at} turn={turn} />}
      {isLive && !following && (
        <button type="button" className={styles.toNow} onClick={() => onFollow(true)}>
          {underWay(rows)}go to now
        </button>
      )}
    </nav>
  );
}

/** "10 of airline_agent on gpt-4o" */
function describe(turns: readonly TurnRow[], models: readonly string[]): string {
  const agents = [...new Set(turns.flatMap((row) => (row.agent === null ? [] : [row.agent])))];
  const of = agents.length === 0 ? "" : agents.length === 1 ? ` of ${agents[0]}` : ` of ${count(agents.length)} agents`;
  const on = models.length === 0 ? "" : models.length === 1 ? ` on ${models[0]}` : ` on ${count(models.length)} models`;
  return `${count(turns.length)}${of}${on}`;
}

function underWay(rows: readonly TurnRow[]): string {
  const open = rows.filter((row) => row.kind === "turn" && row.status === "open").length;
  return open === 0 ? "" : `${count(open)} under way, `;
}

/** The lines alone. It is one stop of the Tab key; the arrow keys move within it. */
export function TurnRows({ at, turn, onChosen }: { at: number; turn: TurnRow | undefined; onChosen?: () => void }) {
  const { rows, marks, go } = useOnPage();
  const shown = useMemo(() => listed(rows), [rows]);
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    initialRect: { width: 384, height: 600 },
  });
  const current = turn === undefined ? -1 : shown.findIndex((each) => each.row === turn);
  useEffect(() => {
    if (current >= 0) list.scrollToIndex(current, { align: "auto" });
  }, [current, list]);
  const choose = (row: TurnRow) => {
    go(targetOf(rows, row));
    onChosen?.();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const to = nextTurnRow(shown, current, step);
    if (to !== undefined) go(to.seq);
  };
  return (
    <div
      ref={box}
      className={styles.list}
      tabIndex={0}
      role="listbox"
      aria-label="Turns"
      aria-activedescendant={current >= 0 ? `row-${shown[current]?.row.seq}` : undefined}
      onKeyDown={press}
    >
      <div style={{ height: list.getTotalSize() }} role="presentation">
        {list.getVirtualItems().map((item) => {
          const each = shown[item.index];
          if (each === undefined) return null;
          const number = each.row.kind === "turn" ? each.row.turn : null;
          return (
            <Row
              key={`${each.row.kind} ${each.row.seq}`}
              {...each}
              place={item.index + 1}
              of={shown.length}
              top={item.start}
              isAt={item.index === current}
              isNext={at > 0 && turn !== undefined && each.row.seq > Math.max(at, turn.seq)}
              mark={number === null ? undefined : marks.get(number)}
              onChoose={choose}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The turn so many lines further on; lines that are no turn are passed over. */
function nextTurnRow(shown: readonly ListedRow[], from: number, step: number): TurnRow | undefined {
  const by = Math.sign(step);
  let found: TurnRow | undefined;
  let left = Math.abs(step);
  for (let n = from + by; n >= 0 && n < shown.length && left > 0; n += by) {
    const row = shown[n]?.row;
    if (row?.kind !== "turn") continue;
    found = row;
    left -= 1;
  }
  return found;
}

type RowProps = ListedRow & {
  place: number;
  of: number;
  top: number;
  isAt: boolean;
  isNext: boolean;
  mark: Mark | undefined;
  onChoose: (row: TurnRow) => void;
};

const Row = memo(function Row({ row, around, place, of, top, isAt, isNext, mark, onChoose }: RowProps) {
  const isFailed = row.kind === "turn" && (row.raised || row.status === "failed");
  const classes = [styles.row, styles[row.kind], isAt && styles.at, isNext && styles.next, isFailed && styles.failed];
  if (row.kind === "agent" && row.raised) classes.push(styles.raised);
  if (row.status === "open" && row.kind === "turn") classes.push(styles.open);
  const indent = Math.min(around.length, DEEPEST) * INDENT_PX;
  return (
    <div
      id={`row-${row.seq}`}
      role="option"
      aria-selected={isAt}
      aria-posinset={place}
      aria-setsize={of}
      className={classes.filter(Boolean).join(" ")}
      style={{ transform: `translateY(${top}px)`, paddingLeft: indent }}
      onClick={() => onChoose(row)}
    >
      {around.slice(0, DEEPEST).map((raised, n) => (
        <i
          key={n}
          className={raised ? `${styles.rail} ${styles.red}` : styles.rail}
          style={{ left: (n + 1) * INDENT_PX }}
          aria-hidden="true"
        />
      ))}
      <span className={styles.number}>{numberOf(row)}</span>
      <span className={styles.what}>
        <What row={row} />
      </span>
      <span>
        {mark !== undefined && !isFailed && (
          <>
            <span className="visually-hidden">
              {mark.isSuspect ? `suspect ${mark.rank}` : `evidence of suspect ${mark.rank}`}
            </span>
            <span aria-hidden="true">
              <Rank as={mark.isSuspect ? (mark.rank === 1 ? "suspect" : "evidence") : "weak"}>{mark.rank}</Rank>
            </span>
          </>
        )}
        {isFailed && (
          <>
            <span className="visually-hidden">raised</span>
            <span aria-hidden="true">
              <Rank as="suspect">✕</Rank>
            </span>
          </>
        )}
        {row.kind === "agent" && row.raised && <span className={styles.word}>raised</span>}
      </span>
      <span className={styles.time}>{timeOf(row)}</span>
    </div>
  );
});

function numberOf(row: TurnRow): string {
  if (row.kind === "turn") return String(row.turn ?? "");
  if (row.kind === "agent") return row.raised ? "■" : "□";
  return { user: "·", call: "·", cut: "∑", wait: "◐" }[row.kind];
}

function timeOf(row: TurnRow): string {
  if (row.kind === "user" || row.kind === "cut") return "";
  return row.elapsed_ms === null ? (row.status === "open" ? "…" : "") : duration(row.elapsed_ms);
}

function What({ row }: { row: TurnRow }) {
  switch (row.kind) {
    case "agent":
      return (
        <>
          <Said>{row.agent ?? row.text ?? "agent"}</Said>{" "}
          {row.turns !== null && row.turns > 0 && (
            <span className={styles.more}>
              {count(row.turns)} {row.turns === 1 ? "turn" : "turns"}
            </span>
          )}
        </>
      );
    case "user":
      return (
        <>
          <span className="visually-hidden">user: </span>
          <Said>{plainLine(row.text ?? "")}</Said>
        </>
      );
    case "cut":
      return (
        <>
          <b>cut</b> <Said>{row.text ?? "messages left the context"}</Said>
        </>
      );
    case "wait":
      return (
        <>
          <b>{row.status === "open" ? "waits" : "waited"}</b> <Said>{row.text ?? ""}</Said>
        </>
      );
    case "call":
      return <Calls row={row} />;
    case "turn":
      return (
        <>
          <span className="visually-hidden">turn {row.turn}: </span>
          {row.calls.length > 0 ? <Calls row={row} /> : <Words row={row} />}
        </>
      );
  }
}

/** The calls in the words of the agent's tools. */
function Calls({ row }: { row: TurnRow }) {
  return (
    <code>
      <Said>{row.calls.map(lineOf).join(", ") || (row.text ?? "")}</Said>
    </code>
  );
}

const lineOf = ({ name, shown }: TurnRow["calls"][number]): string =>
  shown.startsWith(`${name}(`) ? shown : `${name}(${shown})`;

function Words({ row }: { row: TurnRow }) {
  if (row.text !== null)
    return (
      <span className={row.internal ? styles.internal : styles.words}>
        “<Said>{plainLine(row.text)}</Said>”
      </span>
    );
  return <span className={styles.more}>{row.status === "open" ? "under way" : "no answer recorded"}</span>;
}
