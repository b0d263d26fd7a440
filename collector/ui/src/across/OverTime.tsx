import { Link } from "wouter";

import { count, duration, localDateTime, money } from "../model/format";
import type { Question } from "./Answer";
import { runsLink } from "./links";
import { highest, type Period, series, type Series } from "./periods";
import styles from "./Across.module.css";

const WRITE: Record<Series["unit"], (value: number) => string> = {
  count: (value) => count(Math.round(value)),
  tokens: (value) => count(Math.round(value)),
  money,
  ms: duration,
  share: (value) => value.toFixed(value >= 10 ? 0 : 2),
};

/** How runs went over time: each bar is a link to the runs of its period. */
export function OverTime({ periods, where }: { periods: readonly Period[]; where: Question["where"] }) {
  const [first, last] = [periods[0], periods.at(-1)];
  if (first === undefined || last === undefined) return null;
  return (
    <section aria-label="Over time">
      <h2>
        Over time{" "}
        <span className="sub">
          {fromTo(localDateTime(first.since), localDateTime(last.until))}, in {periods.length} equal parts; a bar is a
          link to its runs
        </span>
      </h2>
      <div className={styles.overTime}>
        {series(periods).map((each) => (
          <Chart key={each.name} series={each} periods={periods} where={where} />
        ))}
      </div>
    </section>
  );
}

/** Runs of one second have one time. */
const fromTo = (from: string, to: string): string => (from === to ? from : `${from} to ${to}`);

function Chart({ series, periods, where }: { series: Series; periods: readonly Period[]; where: Question["where"] }) {
  const most = highest(series);
  const write = WRITE[series.unit];
  return (
    <figure>
      <figcaption>
        <b>{series.name}</b>{" "}
        <span className="sub">
          {series.about}; up to {write(most)}
        </span>
      </figcaption>
      <div className={styles.bars}>
        {periods.map((period, n) => {
          const [high, low] = [series.high[n] ?? null, series.low?.[n] ?? null];
          if (high === null || high === 0) return <span key={n} />;
          const label = `${localDateTime(period.since)}: ${series.name} ${write(high)}${low === null ? "" : `, ${series.name === "runs" ? `${write(low)} failed` : `p50 ${write(low)}`}`}`;
          return (
            <Link
              key={n}
              href={runsLink(where, { since: period.since, until: period.until })}
              aria-label={label}
              title={label}
            >
              <svg viewBox="0 0 1 100" preserveAspectRatio="none" aria-hidden="true">
                <rect className={styles.high} width={1} y={100 - (high / most) * 100} height={(high / most) * 100} />
                {low !== null && (
                  <rect
                    className={series.name === "runs" ? styles.failed : styles.low}
                    width={1}
                    y={100 - (low / most) * 100}
                    height={(low / most) * 100}
                  />
                )}
              </svg>
            </Link>
          );
        })}
      </div>
    </figure>
  );
}
