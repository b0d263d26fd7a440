// All events in lanes, by step or by time; the hand is the playhead. Drawn once on a canvas; only the hand moves.
import { useEffect, useMemo, useRef, useState, type PointerEvent } from "react";

import type { RecordedEvent } from "../api/types";
import { type Axis, byStep, byTime, nearest } from "../model/axis";
import { count, duration } from "../model/format";
import type { Playhead } from "../model/playhead";
import { isError, type Lane, laneOf } from "../model/steps";
import { usePlaying } from "./useKeys";

const LANES: Lane[] = ["model", "tool", "message", "state", "compression"];
const LANE_HEIGHT = 17.6;
const COLOURS: Record<Lane, string> = { model: "--model", tool: "--tool", message: "--user", state: "--state", compression: "--cut" };

export function Timeline({ events, head }: { events: readonly RecordedEvent[]; head: Playhead }) {
  const [isByTime, setByTime] = useState(false);
  const [width, setWidth] = useState(0);
  const canvas = useRef<HTMLCanvasElement>(null);
  const hand = useRef<HTMLDivElement>(null);
  const ahead = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const axis = useMemo<Axis>(
    () => (isByTime ? byTime(events.map((event) => Date.parse(event.time))) : byStep(events.length)),
    [events, isByTime],
  );
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
      if (ahead.current !== null) ahead.current.style.transform = `scaleX(${1 - at})`;
      const label = hand.current.firstElementChild;
      if (label !== null) label.textContent = `event ${head.at}`;
      canvas.current?.setAttribute("aria-valuenow", String(head.at));
    };
    place();
    return head.subscribe(place);
  }, [head, axis, width]);
  const drag = (event: PointerEvent<HTMLCanvasElement>) => {
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    else if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const room = event.currentTarget.getBoundingClientRect();
    head.move(1 + nearest(axis.at, (event.clientX - room.left) / room.width));
  };
  return (
    <footer className="timeline" aria-label="Timeline">
      <div className="ctl">
        <button type="button" className="button" onClick={turn} aria-label={isPlaying ? "Pause" : "Play"}>{isPlaying ? "❚❚" : "▶"}</button>
        <div className="tabs" role="group" aria-label="Axis">
          <button type="button" aria-pressed={!isByTime} onClick={() => setByTime(false)}>by step</button>
          <button type="button" aria-pressed={isByTime} onClick={() => setByTime(true)}>by time</button>
        </div>
      </div>
      <div className="keys" aria-hidden="true"><kbd>←</kbd> <kbd>→</kbd> event &nbsp; <kbd>⇧→</kbd> model call &nbsp; <kbd>e</kbd> next error &nbsp; <kbd>space</kbd> play</div>
      {LANES.map((lane, n) => <span key={lane} className="lane" style={{ top: 34 + n * LANE_HEIGHT }} aria-hidden="true">{lane}</span>)}
      <canvas ref={canvas} role="slider" tabIndex={0} aria-label="Playhead" aria-valuemin={1} aria-valuemax={Math.max(1, events.length)} aria-valuenow={head.at} onPointerDown={drag} onPointerMove={drag} />
      <div className="ahead" ref={ahead} aria-hidden="true" />
      <div className="hand" ref={hand} aria-hidden="true"><span /></div>
      <div className="axis" aria-hidden="true"><Ends events={events} isByTime={isByTime} axis={axis} /></div>
    </footer>
  );
}

function Ends({ events, isByTime, axis }: { events: readonly RecordedEvent[]; isByTime: boolean; axis: Axis }) {
  const first = events[0];
  const last = events.at(-1);
  if (first === undefined || last === undefined) return null;
  if (!isByTime) return <><span>1</span><span>{count(Math.ceil(events.length / 2))}</span><span>{count(events.length)}</span></>;
  const folded = axis.gaps.reduce((sum, gap) => sum + gap.ms, 0);
  return (
    <>
      <span>0</span>
      {axis.gaps.length > 0 && <span>{axis.gaps.length} idle {axis.gaps.length === 1 ? "gap" : "gaps"} folded: {duration(folded)}</span>}
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
  const each = Math.max(1.5, Math.min(18, (width / Math.max(1, events.length)) * 0.8));
  ink.fillStyle = colours.get("--line") ?? "";
  for (const gap of axis.gaps) for (let x = -4; x < 6; x += 3) ink.fillRect(gap.at * width + x, 0, 1, height);
  let drawn = "";
  events.forEach((event, n) => {
    const lane = laneOf(event.kind);
    if (lane === null) return;
    const row = LANES.indexOf(lane);
    const x = Math.max(0, (axis.at[n] ?? 0) * (width - 2) - each / 2);
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
  const found = new Map(names.map((name) => {
    probe.style.color = `var(${name})`;
    return [name, getComputedStyle(probe).color];
  }));
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
  const latest = useRef(turn);
  latest.current = turn;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== " " || !(event.target instanceof HTMLElement) || ["INPUT", "BUTTON", "SUMMARY", "A"].includes(event.target.tagName)) return;
      event.preventDefault();
      latest.current();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
