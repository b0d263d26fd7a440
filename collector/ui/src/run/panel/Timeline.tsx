// A lane for each agent, a bar for each call; flags for errors, suspects and cuts; the playhead is a slider.
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";

import type { TimedCall, TurnRow } from "../../api/types";
import { count, duration } from "../../model/format";
import { Said } from "../../parts/Said";
import { saidPlainly } from "../../parts/said";
import type { Range } from "../page";
import { errorsIn, marksOf, turnBeside, turnsOf } from "../turns/rows";
import { barAt, coloursOf, drawLanes, LANE_HEIGHT } from "./drawLanes";
import { flagsOf } from "./flags";
import { InBar } from "./InBar";
import { type Lane, type Moments, msOf, seqAt, workload, workOf } from "./lanes";
import type { PanelProps } from "./props";
import { axisTime } from "./said";
import styles from "./Timeline.module.css";
import { momentAt, position, ticks, timeAxis, type TimeAxis } from "./timeAxis";
import { useRangeDrag } from "./useRange";
import { useTheme } from "./useTheme";

const TICKS = 6;
/** Names of moments behind here stand at the left of them. */
const LAST = 0.97;
const PAGE = 10;
/** Pixels of the text at the playhead. */
const LABEL_WIDTH = 52;
/** A flag is at least so wide, and stays whole at both ends. */
const FLAG_PX = 14;
/** Beyond now: what is to come. */
const AHEAD = 0.06;

type Props = Pick<
  PanelProps,
  "run" | "rows" | "at" | "turn" | "onGo" | "range" | "onRange" | "suspects" | "following" | "now"
> & {
  lanes: readonly Lane[];
  moments: Moments;
  calls: readonly TimedCall[];
  known: number;
  isRunning: boolean;
};

export function Timeline({
  run,
  rows,
  at,
  turn,
  onGo,
  range,
  onRange,
  suspects,
  following,
  now,
  lanes,
  moments,
  calls,
  known,
  isRunning,
}: Props) {
  const axis = useMemo(
    () => axisOf(calls, moments, range, known, isRunning),
    [calls, moments, range, known, isRunning],
  );
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(canvas);
  const theme = useTheme();
  useLayoutEffect(() => {
    if (canvas.current !== null && width > 0) drawLanes(canvas.current, lanes, axis, coloursOf(canvas.current));
  }, [lanes, axis, width, theme]);
  const turns = useMemo(() => turnsOf(rows), [rows]);
  const flags = useMemo(() => flagsOf(rows, marksOf(suspects, rows, turns), errorsIn(rows)), [rows, suspects, turns]);
  const drag = useRangeDrag(axis, moments, onRange);
  const scrub = useScrub((x) => onGo(seqAt(moments, momentAt(axis, x))));
  const here = following && isRunning ? position(axis, known) : position(axis, msOf(moments, Math.max(1, at)));
  const pointer = {
    onPointerDown: (event: PointerEvent<HTMLElement>) => (event.shiftKey ? drag.begin(event) : scrub.begin(event)),
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      if (drag.chosen !== null) drag.move(event);
      else if (event.currentTarget.hasPointerCapture(event.pointerId)) scrub.move(event);
      else event.currentTarget.title = hint(event, lanes, axis, width);
    },
    onPointerUp: drag.end,
    onPointerCancel: drag.cancel,
  };
  const keys = (event: KeyboardEvent<HTMLElement>) => {
    const to = keyTarget(event, turns, at, now);
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // the page has the same keys
    onGo(to);
  };
  const place = turn === undefined ? 0 : turns.indexOf(turn);
  const mark = turn?.turn == null ? undefined : flags.marks.get(turn.turn);
  return (
    <div className={styles.time}>
      <InBar>{saidOfTime(lanes, Math.max(turns.length, run.llm_calls), known, axis)}</InBar>
      <div className={styles.lanes}>
        <div className={styles.names} aria-hidden="true">
          {lanes.map((lane, n) => (
            <span
              key={n}
              className={lane.isFailed ? `${styles.name ?? ""} ink-bad` : styles.name}
              title={saidPlainly(lane.name)}
            >
              <Said>{lane.name}</Said>
            </span>
          ))}
        </div>
        <div
          className={styles.field}
          role="slider"
          tabIndex={0}
          aria-label="Playhead"
          aria-orientation="horizontal"
          aria-valuemin={1}
          aria-valuemax={Math.max(1, turns.length, run.llm_calls)}
          aria-valuenow={turn?.turn ?? Math.max(1, place + 1)}
          aria-valuetext={valueText(turn, turns.length, at, mark)}
          onKeyDown={keys}
          style={{ height: lanes.length * LANE_HEIGHT }}
          {...pointer}
        >
          <canvas ref={canvas} className={styles.canvas} />
          <Folds axis={axis} />
          {isRunning && <i className={styles.future} style={{ left: percentOf(position(axis, known)) }} />}
          <i className={styles.ahead} style={{ left: percentOf(here) }} />
          {drag.chosen !== null && (
            <i
              className={styles.chosen}
              style={{ left: percentOf(drag.chosen.low), width: percentOf(drag.chosen.high - drag.chosen.low) }}
            />
          )}
        </div>
      </div>
      <div className={styles.over} style={{ height: lanes.length * LANE_HEIGHT }}>
        {flags.items.map((flag) => {
          const x = position(axis, msOf(moments, flag.seq));
          if (x < 0 || x > 1) return null;
          return (
            <button
              key={`${flag.kind}${flag.seq}`}
              type="button"
              tabIndex={-1}
              className={`${styles.flag ?? ""} ${styles[flag.kind] ?? ""}`}
              style={{ left: `clamp(${FLAG_PX / 2}px, ${percentOf(x)}, calc(100% - ${FLAG_PX / 2}px))` }}
              title={flag.title}
              onClick={() => onGo(flag.to)}
            >
              <span className="visually-hidden">{flag.title} </span>
              {flag.text}
            </button>
          );
        })}
        {flags.items.map(
          (flag) =>
            flag.kind === "cut" && (
              <i
                key={flag.seq}
                className={styles.cutline}
                style={{ left: percentOf(position(axis, msOf(moments, flag.seq))) }}
              />
            ),
        )}
        {isRunning && !following && (
          <i className={`${styles.hand ?? ""} ${styles.now ?? ""}`} style={{ left: percentOf(position(axis, known)) }}>
            <b>now</b>
          </i>
        )}
        {here >= 0 && here <= 1 && (
          <i className={styles.hand} style={{ left: percentOf(here) }}>
            <b style={{ transform: `translateX(${-100 * Math.max(0.06, Math.min(0.94, here))}%)` }}>
              {following && isRunning
                ? "now"
                : turn?.turn == null
                  ? `event ${count(Math.max(1, at))}`
                  : `turn ${count(turn.turn)}`}
            </b>
          </i>
        )}
      </div>
      <div
        className={styles.axis}
        title="Drag to show a part; 0 shows all"
        onPointerDown={drag.begin}
        onPointerMove={drag.move}
        onPointerUp={drag.end}
        onPointerCancel={drag.cancel}
      >
        {ticksBeside(axis, here, width).map((ms) => (
          <span
            key={ms}
            className={position(axis, ms) > LAST ? styles.last : undefined}
            style={{ left: percentOf(position(axis, ms)) }}
          >
            {axisTime(ms)}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Ticks whose text is not below that of the playhead. `width` in pixels. */
const ticksBeside = (axis: TimeAxis, here: number, width: number): number[] =>
  ticks(axis, TICKS).filter((ms) => Math.abs(position(axis, ms) - here) * width > LABEL_WIDTH);

const percentOf = (share: number) => `${(share * 100).toFixed(3)}%`;

function axisOf(
  calls: readonly TimedCall[],
  moments: Moments,
  range: Range | null,
  known: number,
  isRunning: boolean,
): TimeAxis {
  const end = isRunning ? known * (1 + AHEAD) : known;
  // What is to come is not idle: nothing of it is folded.
  const work = [...workOf(calls, known), ...(isRunning ? [{ start: known, end }] : [])];
  if (range === null) return timeAxis(work, 0, end);
  return timeAxis(work, msOf(moments, range.from), msOf(moments, range.to));
}

/** What the bar says of a run in time. */
function saidOfTime(lanes: readonly Lane[], turns: number, known: number, axis: TimeAxis): string {
  const { atOnce, busy } = workload(lanes);
  const turnsIn = `${count(turns)} ${turns === 1 ? "turn" : "turns"}`;
  if (atOnce > 1) return `${count(atOnce)} at a time; ${turnsIn} in ${duration(known)}`;
  const isFolded = axis.pieces.some((piece) => piece.isFolded);
  return `${turnsIn}, ${duration(busy)} of work in ${duration(known)}${isFolded ? "; idle time is folded" : ""}`;
}

function valueText(turn: TurnRow | undefined, turns: number, at: number, mark: string | undefined): string {
  if (turn?.turn == null) return `event ${at}`;
  return [
    `turn ${turn.turn} of ${turns}`,
    ...(turn.elapsed_ms === null ? ["under way"] : [duration(turn.elapsed_ms)]),
    ...(mark === undefined ? [] : [mark]),
  ].join(", ");
}

/** Where a key of the slider leads; undefined: it is none. */
function keyTarget(event: KeyboardEvent, turns: readonly TurnRow[], at: number, now: number): number | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key] as 1 | -1 | undefined;
  if (step !== undefined)
    return event.shiftKey ? Math.max(1, Math.min(now, at + step)) : turnBeside(turns, at, step)?.seq;
  if (event.key === "Home") return turns[0]?.seq;
  if (event.key === "PageUp" || event.key === "PageDown") {
    const by = event.key === "PageDown" ? PAGE : -PAGE;
    const here = turns.findLastIndex((row) => row.seq <= at);
    return turns[Math.max(0, Math.min(turns.length - 1, here + by))]?.seq;
  }
  return undefined; // End is the page's: it may begin to follow
}

function hint(event: PointerEvent<HTMLElement>, lanes: readonly Lane[], axis: TimeAxis, width: number): string {
  const room = event.currentTarget.getBoundingClientRect();
  const bar = barAt(lanes, axis, width, event.clientX - room.left, event.clientY - room.top);
  if (bar === undefined) return "Shift and drag to show a part; 0 shows all";
  const took = bar.isOpen ? "under way" : duration(bar.end - bar.start);
  return `${bar.turn === null ? "" : `turn ${bar.turn}: `}${bar.name}, ${took}${bar.isFailed ? ", failed" : ""}`;
}

/** Moves once per frame, however often the pointer reports. */
function useScrub(go: (x: number) => void) {
  const frame = useRef(0);
  const to = useRef(0);
  const latest = useRef(go);
  useEffect(() => {
    latest.current = go;
  });
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  const move = (event: PointerEvent<HTMLElement>) => {
    const room = event.currentTarget.getBoundingClientRect();
    to.current = Math.max(0, Math.min(1, (event.clientX - room.left) / room.width));
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      latest.current(to.current);
    });
  };
  const begin = (event: PointerEvent<HTMLElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    move(event);
  };
  return { begin, move };
}

function Folds({ axis }: { axis: TimeAxis }) {
  return axis.pieces.map(
    (piece) =>
      piece.isFolded && (
        <i
          key={piece.from}
          className={styles.fold}
          style={{ left: percentOf(piece.left), width: percentOf(piece.right - piece.left) }}
          title={`${duration(piece.to - piece.from)} idle, folded`}
        />
      ),
  );
}

function useWidth(element: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const target = element.current;
    if (target === null) return;
    const watch = new ResizeObserver(() => setWidth(target.clientWidth));
    watch.observe(target);
    return () => watch.disconnect();
  }, [element]);
  return width;
}
