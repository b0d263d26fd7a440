// When the shown runs started; dragging over it narrows the time.
import { useMemo, useRef, useState, type PointerEvent } from "react";

import type { RunSummary } from "../api/types";
import { count, localDateTime, localTime } from "../model/format";

const BARS = 80;
type Props = { runs: readonly RunSummary[]; isCut: boolean; onRange: (since: string, until: string) => void };

/** Runs per bar of equal time, and how many of them have errors. */
export function buckets(runs: readonly Pick<RunSummary, "started" | "errors" | "status">[], bars: number) {
  const times = runs.map((run) => Date.parse(run.started));
  const first = Math.min(...times);
  const last = Math.max(...times, first + 1);
  const found = Array.from({ length: bars }, () => ({ runs: 0, bad: 0 }));
  runs.forEach((run, n) => {
    const bar = found[Math.min(bars - 1, Math.floor((((times[n] ?? first) - first) / (last - first)) * bars))];
    if (bar === undefined) return;
    bar.runs += 1;
    if (run.errors > 0 || run.status === "failed") bar.bad += 1;
  });
  return { first, last, bars: found };
}

export function Histogram({ runs, isCut, onRange }: Props) {
  const { first, last, bars } = useMemo(() => buckets(runs, BARS), [runs]);
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  if (runs.length === 0) return <div />;
  const highest = Math.max(...bars.map((bar) => bar.runs));
  const share = (event: PointerEvent) => {
    const room = box.current?.getBoundingClientRect();
    return room === undefined ? 0 : Math.max(0, Math.min(1, (event.clientX - room.left - 16) / (room.width - 32)));
  };
  const moment = (part: number) => new Date(first + part * (last - first)).toISOString();
  const done = () => {
    if (drag !== null && Math.abs(drag.to - drag.from) > 0.01)
      onRange(moment(Math.min(drag.from, drag.to)), moment(Math.max(drag.from, drag.to)));
    setDrag(null);
  };
  return (
    <div
      ref={box}
      className="histogram"
      role="img"
      aria-label={`${count(runs.length)} runs between ${localTime(new Date(first).toISOString())} and ${localTime(new Date(last).toISOString())}`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: share(event), to: share(event) });
      }}
      onPointerMove={(event) => drag !== null && setDrag({ ...drag, to: share(event) })}
      onPointerUp={done}
    >
      <svg viewBox={`0 0 ${BARS} 10`} preserveAspectRatio="none" aria-hidden="true">
        {drag !== null && (
          <rect
            className="brush"
            x={Math.min(drag.from, drag.to) * BARS}
            width={Math.abs(drag.to - drag.from) * BARS}
            y={0}
            height={10}
          />
        )}
        {bars.map(
          (bar, n) =>
            bar.runs > 0 && (
              <g key={n}>
                <rect x={n + 0.1} width={0.8} y={10 - (bar.runs / highest) * 10} height={(bar.runs / highest) * 10} />
                <rect
                  className="bad"
                  x={n + 0.1}
                  width={0.8}
                  y={10 - (bar.bad / highest) * 10}
                  height={(bar.bad / highest) * 10}
                />
              </g>
            ),
        )}
      </svg>
      <div className="ends" aria-hidden="true">
        <span>{localDateTime(new Date(first).toISOString())}</span>
        <span>
          {isCut ? `the newest ${count(runs.length)}` : `${count(runs.length)} ${runs.length === 1 ? "run" : "runs"}`}
        </span>
        <span>{localDateTime(new Date(last).toISOString())}</span>
      </div>
    </div>
  );
}
