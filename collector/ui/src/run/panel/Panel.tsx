// The panel below the turn: the run over time, in four views.
import { lazy, Suspense, useMemo, useState, type KeyboardEvent, type ReactNode } from "react";

import { Failed, Loading } from "../../parts/Notices";
import { PANELS, type PanelName } from "../page";
import { useAtMost } from "../useAtMost";
import { lanesOf, momentsOf } from "./lanes";
import styles from "./Panel.module.css";
import { SlotProvider } from "./InBar";
import { Timeline } from "./Timeline";
import type { PanelProps } from "./props";
import { useHeight } from "./useHeight";
import { useKnownMs } from "./useKnownMs";
import { useRangeKeys } from "./useRange";
import { useWaterfall } from "./useWaterfall";

const Waterfall = lazy(async () => ({ default: (await import("./Waterfall")).Waterfall }));
const Agents = lazy(async () => ({ default: (await import("./Agents")).Agents }));
const Tokens = lazy(async () => ({ default: (await import("./Tokens")).Tokens }));

const TITLES: Readonly<Record<PanelName, string>> = {
  timeline: "Timeline",
  waterfall: "Waterfall",
  agents: "Agents",
  tokens: "Tokens",
};
const TALL = 372;
const LANE = 22;
/** Bar, flags and axis around the lanes. */
const AROUND = 32 + 14 + 18 + 8;
const LANES_SHOWN = 8;
/** While a run goes on, its calls are asked for again at most this often. */
const NEWS_MS = 1_000;

export function Panel(props: PanelProps) {
  const { run, at, turn, onGo, range, onRange, panel, onPanel, now, isReady } = props;
  const isRunning = run.status === "running";
  const news = useAtMost(isRunning ? now : 0, NEWS_MS);
  const { calls, path, isWhole, asOf, error } = useWaterfall(run.run, news, !isRunning, isReady);
  const known = useKnownMs(calls, asOf, isRunning && isWhole, run.elapsed_ms);
  const lanes = useMemo(() => lanesOf(calls, known, run.name ?? "run"), [calls, known, run.name]);
  const moments = useMemo(() => momentsOf(calls), [calls]);
  const usual = AROUND + LANE * Math.max(1, Math.min(lanes.length, LANES_SHOWN));
  const { height, edge } = useHeight(
    panel === "timeline" ? `timeline-${Math.min(lanes.length, LANES_SHOWN)}` : panel,
    panel === "timeline" ? usual : TALL,
  );
  useRangeKeys(at, range, onRange, now);
  const isEmpty = calls.length === 0;
  const [slot, setSlot] = useState<HTMLElement | null>(null);
  const keys = panel === "waterfall" ? WATERFALL_KEYS : panel === "timeline" && isRunning ? LIVE_KEYS : KEYS;
  const failed = isEmpty ? error : null;
  return (
    <section className={styles.panel} aria-label="The run over time" style={{ height }}>
      <div className={styles.edge} {...edge} />
      <Bar panel={panel} onPanel={onPanel} keys={keys}>
        <div className={styles.slot} ref={setSlot} />
        <RangeSwitch range={range} onRange={onRange} />
      </Bar>
      <SlotProvider value={slot}>
        <Suspense fallback={<Loading what="this view" />}>
          {panel === "tokens" ? (
            <Tokens run={run} rows={props.rows} at={at} turn={turn} news={news} onGo={onGo} />
          ) : failed !== null ? (
            <Failed error={failed} what="the calls in time" />
          ) : isEmpty && !isWhole ? (
            <Loading what="the calls in time" />
          ) : panel === "timeline" ? (
            <Timeline {...props} lanes={lanes} moments={moments} calls={calls} known={known} isRunning={isRunning} />
          ) : panel === "waterfall" ? (
            <Waterfall
              calls={calls}
              path={path}
              rows={props.rows}
              at={at}
              known={known}
              range={range}
              moments={moments}
              onGo={onGo}
              onRange={onRange}
            />
          ) : (
            <Agents calls={calls} rows={props.rows} at={at} known={known} unnamed={run.name ?? "run"} onGo={onGo} />
          )}
        </Suspense>
      </SlotProvider>
    </section>
  );
}

type Key = readonly [readonly string[], string];
const KEYS: readonly Key[] = [
  [["←", "→"], "turn"],
  [["⇧←", "⇧→"], "event"],
  [["e"], "next error"],
  [["s"], "next suspect"],
  [["?"], "all keys"],
];
const LIVE_KEYS: readonly Key[] = [
  [["←", "→"], "turn, stops following"],
  [["l"], "follow"],
  [["End"], "now"],
  [["?"], "all keys"],
];
const WATERFALL_KEYS: readonly Key[] = [
  [["↑", "↓"], "row"],
  [["←", "→"], "fold"],
  [["z"], "zoom to a row"],
  [["?"], "all keys"],
];

type BarProps = {
  panel: PanelName;
  onPanel: (panel: PanelName) => void;
  keys: readonly Key[];
  children: ReactNode;
};

/** The tabs of the four views, what the view says of itself, and its keys. */
function Bar({ panel, onPanel, keys, children }: BarProps) {
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const here = PANELS.indexOf(panel);
    const places: Readonly<Record<string, number>> = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: -1 };
    const next = PANELS.at((places[event.key] ?? NaN) % PANELS.length);
    if (places[event.key] === undefined || next === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // these keys move the playhead elsewhere
    onPanel(next);
    document.getElementById(tabOf(next))?.focus();
  };
  return (
    <div className={styles.bar}>
      <div className={styles.tabs} role="tablist" aria-label="Views of the time" onKeyDown={move}>
        {PANELS.map((each) => (
          <button
            key={each}
            id={tabOf(each)}
            type="button"
            role="tab"
            aria-selected={each === panel}
            tabIndex={each === panel ? 0 : -1}
            onClick={() => onPanel(each)}
          >
            {TITLES[each]}
          </button>
        ))}
      </div>
      {children}
      <div className={styles.keys} aria-hidden="true">
        {keys.map(([caps, what]) => (
          <span key={what}>
            {caps.map((cap) => (
              <kbd key={cap}>{cap}</kbd>
            ))}{" "}
            {what}
          </span>
        ))}
      </div>
    </div>
  );
}

const tabOf = (panel: PanelName) => `panel-tab-${panel}`;

function RangeSwitch({ range, onRange }: Pick<PanelProps, "range" | "onRange">) {
  if (range === null) return null;
  return (
    <button type="button" className="go" onClick={() => onRange(null)}>
      events {range.from} to {range.to}: show all <kbd>0</kbd>
    </button>
  );
}
