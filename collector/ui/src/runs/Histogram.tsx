// When the runs started, those that failed in red; dragging over it narrows the time.
import { useMemo, useRef, useState, type PointerEvent } from "react";

import type { RunsOverview } from "../api/types";
import { count, localDateTime, startedText } from "../model/format";
import { histogramBars } from "./bars";
import styles from "./RunsPage.module.css";

type Props = { overview: RunsOverview; onRange: (since: string, until: string) => void };
/** A drag shorter than this share of the width is a click. */
const SHORTEST = 0.01;

export function Histogram({ overview, onRange }: Props) {
  const { from, to, bars, highest } = useMemo(() => histogramBars(overview), [overview]);
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  // eslint-disable-next-line react-hooks/purity -- only whether the ends are of today
  const now = Date.now();
  const share = (event: PointerEvent) => {
    const room = box.current?.getBoundingClientRect();
    return room === undefined ? 0 : Math.max(0, Math.min(1, (event.clientX - room.left) / room.width));
  };
  const moment = (part: number) => new Date(from + part * (to - from)).toISOString();
  const done = () => {
    if (drag !== null && Math.abs(drag.to - drag.from) > SHORTEST)
      onRange(moment(Math.min(drag.from, drag.to)), moment(Math.max(drag.from, drag.to)));
    setDrag(null);
  };
  const iso = (ms: number) => new Date(ms).toISOString();
  const failed = bars.reduce((sum, bar) => sum + bar.failed, 0);
  return (
    <div className={styles.when}>
      <div
        ref={box}
        className={styles.hist}
        role="img"
        aria-label={`${count(overview.runs)} runs, ${count(failed)} failed, between ${localDateTime(iso(from))} and ${localDateTime(iso(to))}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag({ from: share(event), to: share(event) });
        }}
        onPointerMove={(event) => drag !== null && setDrag({ ...drag, to: share(event) })}
        onPointerUp={done}
        onPointerCancel={() => setDrag(null)}
      >
        <svg viewBox={`0 0 ${bars.length} 100`} preserveAspectRatio="none" aria-hidden="true">
          {drag !== null && (
            <rect
              className={styles.brush}
              x={Math.min(drag.from, drag.to) * bars.length}
              width={Math.abs(drag.to - drag.from) * bars.length}
              y={0}
              height={100}
            />
          )}
          {bars.map((bar, n) => {
            const [all, bad] = [(bar.runs / highest) * 100, (bar.failed / highest) * 100];
            return (
              bar.runs > 0 && (
                <g key={n}>
                  <title>{`${localDateTime(iso(bar.start))}: ${bar.failed} failed, ${bar.runs - bar.failed} others`}</title>
                  <rect x={n + 0.07} width={0.86} y={100 - all + bad} height={all - bad} />
                  <rect className={styles.failedBar} x={n + 0.07} width={0.86} y={100 - all} height={bad} />
                </g>
              )
            );
          })}
        </svg>
      </div>
      <div className={styles.ends}>
        <span>{startedText(iso(from), now)}</span>
        <span>
          drag to narrow · <i className={styles.failedKey} aria-hidden="true" /> failed{" "}
          <i className={styles.otherKey} aria-hidden="true" /> others
        </span>
        <span>{startedText(iso(to), now)}</span>
      </div>
    </div>
  );
}
