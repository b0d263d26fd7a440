// All events in lanes, by step or by time; the hand is the playhead. Drawn once on a canvas; only the hand moves.
import { useEffect, useMemo, useRef, useState, type PointerEvent } from "react";
import { Link } from "wouter";

import type { RecordedEvent } from "../../api/types";
import { type Axis, byStep, byTime, nearest } from "../../model/timeline/axis";
import { count, duration, shortId } from "../../model/format";
import { type Focus, focused } from "../../model/timeline/focus";
import type { Playhead } from "../../model/playhead";
import { isError, type Lane, laneOf } from "../../model/steps/steps";
import { useKeyPress } from "../../parts/useKeyPress";
import { useFocusKeys, useRange } from "./useRange";
import { usePlaying } from "../useKeys";

const LANES: Lane[] = ["model", "tool", "message", "state", "compression"];
const LANE_HEIGHT = 17.6;
/** Room on the right of the lanes. */
const RIGHT = 20;
/** Width of a letter of the hand's label, and around them: measuring it at each move would lay out the page again. */
const [LETTER, PADDING] = [6.4, 14];
const COLOURS: Record<Lane, string> = {
  model: "--model",
  tool: "--tool",
  message: "--user",
  state: "--state",
  compression: "--cut",
};

type Props = {
  events: readonly RecordedEvent[];
  run: string;
  forks: readonly { run: string; at: number | null }[];
  head: Playhead;
  focus: Focus | null;
  onFocus: (focus: Focus | null) => void;
  isByTime: boolean;
  onAxis: (isByTime: boolean) => void;
};

export function Timeline({ events, run, forks, head, focus, onFocus, isByTime, onAxis }: Props) {
  const [width, setWidth] = useState(0);
  const canvas = useRef<HTMLCanvasElement>(null);
  const hand = useRef<HTMLDivElement>(null);
  const ahead = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const whole = useMemo<Axis>(
    () => (isByTime ? byTime(events.map((event) => Date.parse(event.time))) : byStep(events.length)),
    [events, isByTime],
  );
  const axis = useMemo(() => focused(whole, focus), [whole, focus]);
  const range = useRange(axis, onFocus);
  useFocusKeys(head, events.length, focus, onFocus);
  const { isPlaying, turn } = usePlaying(head, events);
  useSpace(turn);
  useEffect(() => {
    const target = canvas.current;
    if (target === null) return;
    const watch = new ResizeObserver(() => setWidth(target.clientWidth));
    watch.observe(target);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current !== null && width > 0) draw(canvas.current, events, axis);
  }, [events, axis, width, theme]);
  useEffect(() => {
    const place = () => {
      const at = axis.at[Math.min(head.at, axis.at.length) - 1] ?? 0;
      if (hand.current === null) return;
      hand.current.style.transform = `translateX(${at * Math.max(0, width - 2)}px)`;
      hand.current.hidden = axis.at.length === 0 || at < 0 || at > 1; // nothing is there yet, or outside of what is in focus
      if (ahead.current !== null) ahead.current.style.transform = `scaleX(${1 - Math.max(0, Math.min(1, at))})`;
      const label = hand.current.firstElementChild;
      if (label instanceof HTMLElement) {
        label.textContent = `event ${head.at}`;
        const beyond = at * width + (label.textContent.length * LETTER + PADDING) / 2 - (width + RIGHT);
        label.style.transform = `translateX(calc(-50% - ${Math.max(0, beyond)}px))`;
      }
      canvas.current?.setAttribute("aria-valuenow", String(head.at));
    };
    place();
    return head.subscribe(place);
  }, [head, axis, width]);
  const drag = (event: PointerEvent<HTMLCanvasElement>) => {
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    else if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    if (event.shiftKey || range.chosen !== null) return range.drag(event);
    const room = event.currentTarget.getBoundingClientRect();
    head.move(1 + nearest(axis.at, (event.clientX - room.left) / room.width));
  };
  return (
    <footer className="timeline" aria-label="Timeline">
      <div className="ctl">
        <button type="button" className="button" onClick={turn} aria-label={isPlaying ? "Pause" : "Play"}>
          {isPlaying ? "❚❚" : "▶"}
        </button>
        <div className="tabs" role="group" aria-label="Axis">
          <button type="button" aria-pressed={!isByTime} onClick={() => onAxis(false)}>
            by step
          </button>
          <button type="button" aria-pressed={isByTime} onClick={() => onAxis(true)}>
            by time
          </button>
        </div>
        {focus !== null && (
          <button type="button" className="go" onClick={() => onFocus(null)}>
            events {count(focus.from)} to {count(focus.to)}: show all
          </button>
        )}
      </div>
      <div className="keys" aria-hidden="true">
        <kbd>←</kbd> <kbd>→</kbd> event &nbsp; <kbd>⇧→</kbd> model call &nbsp; <kbd>e</kbd> next error &nbsp;{" "}
        <kbd>space</kbd> play &nbsp; <kbd>⇧drag</kbd> narrow
      </div>
      {LANES.map((lane, n) => (
        <span key={lane} className="lane" style={{ top: 50 + n * LANE_HEIGHT }} aria-hidden="true">
          {lane}
        </span>
      ))}
      <canvas
        ref={canvas}
        role="slider"
        tabIndex={0}
        aria-label="Playhead"
        aria-valuemin={1}
        aria-valuemax={Math.max(1, events.length)}
        aria-valuenow={head.at}
        onPointerDown={drag}
        onPointerMove={drag}
        onPointerUp={range.done}
        onPointerCancel={range.cancel}
      />
      <Forks run={run} forks={forks} axis={axis} width={width} />
      <div className="ahead" ref={ahead} aria-hidden="true" />
      <div className="hand" ref={hand} aria-hidden="true">
        <span />
      </div>
      {range.chosen !== null && (
        <svg className="range" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
          <rect x={range.chosen.low} y={0} width={range.chosen.high - range.chosen.low} height={1} />
        </svg>
      )}
      <div
        className="axis"
        title="Drag to narrow the timeline; 0 shows all of it"
        onPointerDown={range.drag}
        onPointerMove={range.drag}
        onPointerUp={range.done}
        onPointerCancel={range.cancel}
      >
        <Ends events={events} isByTime={isByTime} axis={axis} focus={focus} />
      </div>
    </footer>
  );
}

/** Where forks of the run were made, each a link to the comparison. */
function Forks({ run, forks, axis, width }: { run: string; forks: Props["forks"]; axis: Axis; width: number }) {
  return forks.map((fork) => {
    const at = fork.at === null ? undefined : axis.at[fork.at - 1];
    if (at === undefined || at < 0 || at > 1) return null;
    const label = `Fork ${shortId(fork.run)} at event ${fork.at}: compare`;
    return (
      <Link
        key={fork.run}
        className="fork-mark"
        href={`/compare/${run}/${fork.run}`}
        aria-label={label}
        title={label}
        style={{ transform: `translateX(${at * Math.max(0, width - 2)}px)` }}
      >
        ⑂
      </Link>
    );
  });
}

function Ends({
  events,
  isByTime,
  axis,
  focus,
}: {
  events: readonly RecordedEvent[];
  isByTime: boolean;
  axis: Axis;
  focus: Focus | null;
}) {
  const { from, to } = focus ?? { from: 1, to: events.length };
  const first = events[from - 1];
  const last = events[to - 1];
  if (first === undefined || last === undefined) return null;
  if (!isByTime)
    return (
      <>
        <span>{count(from)}</span>
        <span>{to - from > 1 ? count(Math.ceil((from + to) / 2)) : ""}</span>
        <span>{count(to)}</span>
      </>
    );
  const folded = axis.gaps.reduce((sum, gap) => sum + gap.ms, 0);
  return (
    <>
      <span>0</span>
      {axis.gaps.length > 0 && (
        <span>
          {axis.gaps.length} idle {axis.gaps.length === 1 ? "gap" : "gaps"} folded: {duration(folded)}
        </span>
      )}
      <span>{duration(Date.parse(last.time) - Date.parse(first.time))}</span>
    </>
  );
}

function draw(canvas: HTMLCanvasElement, events: readonly RecordedEvent[], axis: Axis): void {
  const scale = devicePixelRatio;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const ink = canvas.getContext("2d");
  if (ink === null) return;
  ink.scale(scale, scale);
  const colours = resolve(canvas, [...LANES.map((lane) => COLOURS[lane]), "--bad", "--line"]);
  const shown = axis.at.reduce((sum, at) => sum + (at >= 0 && at <= 1 ? 1 : 0), 0);
  const each = Math.max(1.5, Math.min(18, (width / Math.max(1, shown)) * 0.8));
  ink.fillStyle = colours.get("--line") ?? "";
  for (const gap of axis.gaps) for (let x = -4; x < 6; x += 3) ink.fillRect(gap.at * width + x, 0, 1, height);
  let drawn = "";
  events.forEach((event, n) => {
    const lane = laneOf(event.kind);
    if (lane === null) return;
    const row = LANES.indexOf(lane);
    const at = axis.at[n] ?? 0;
    if (at < 0 || at > 1) return;
    const x = Math.max(0, at * (width - 2) - each / 2);
    const colour = colours.get(isError(event.kind) ? "--bad" : COLOURS[lane]) ?? "";
    // Of many events on one pixel, one is drawn; an error always.
    const pixel = `${row} ${Math.round(x * 2)}`;
    if (pixel === drawn && !isError(event.kind)) return;
    drawn = pixel;
    ink.fillStyle = colour;
    ink.fillRect(x, row * LANE_HEIGHT + 3, each, 11);
  });
}

/** The theme's colours as a canvas takes them. */
function resolve(near: HTMLElement, names: readonly string[]): Map<string, string> {
  const probe = document.createElement("span");
  near.parentElement?.append(probe);
  const found = new Map(
    names.map((name) => {
      probe.style.color = `var(${name})`;
      return [name, getComputedStyle(probe).color];
    }),
  );
  probe.remove();
  return found;
}

/** Changes whenever light and dark do. */
function useTheme(): string {
  const [theme, setTheme] = useState("");
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const read = () => setTheme(`${document.documentElement.dataset.theme} ${dark.matches}`);
    read();
    const watch = new MutationObserver(read);
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    dark.addEventListener("change", read);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", read);
    };
  }, []);
  return theme;
}

function useSpace(turn: () => void): void {
  useKeyPress((event) => {
    if (
      event.key !== " " ||
      !(event.target instanceof HTMLElement) ||
      ["INPUT", "BUTTON", "SUMMARY", "A"].includes(event.target.tagName)
    )
      return;
    event.preventDefault();
    turn();
  });
}
