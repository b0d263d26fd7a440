// Totals of all runs that meet the conditions, not only of those that are loaded.
import type { ReactNode } from "react";

import type { RunsOverview } from "../api/types";
import { count, money, percent, shortCount } from "../model/format";
import { Histogram } from "./Histogram";
import styles from "./RunsPage.module.css";

type Props = { overview: RunsOverview; onRange: (since: string, until: string) => void };

export function Totals({ overview, onRange }: Props) {
  const { success, cost, priced } = overview;
  const scored = success.succeeded + success.failed;
  const crashed = overview.outcomes.find(({ word }) => word === "crashed")?.runs ?? 0;
  return (
    <section className={styles.totals} aria-label="Of all that meet the conditions">
      <dl>
        <Total name="runs">{count(overview.runs)}</Total>
        <Total name={`succeeded${scored === 0 ? "" : `, ${conditionText(overview.condition)}`}`}>
          {scored === 0 ? (
            <>
              – <small>none is scored</small>
            </>
          ) : (
            <>
              {percent(success.rate)}{" "}
              <small>
                {intervalText(success.low, success.high)}, of {count(scored)} scored
              </small>
            </>
          )}
        </Total>
        <Total name="crashed">
          <span className={crashed > 0 ? "ink-bad" : ""}>{count(crashed)}</span>
        </Total>
        <Total name="cost">
          {money(cost)} {cost !== null && priced > 1 && <small>{money(cost / priced)} each</small>}
        </Total>
        <Total name="tokens in">{shortCount(overview.input_tokens)}</Total>
      </dl>
      <Histogram overview={overview} onRange={onRange} />
    </section>
  );
}

function Total({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** `reward>=0.5` as people write it. */
const conditionText = (condition: string): string => condition.replace(/\s*>=\s*/, " ≥ ").replace(/\s*<=\s*/, " ≤ ");

/** "35 to 49": the interval of the rate, in percent. */
function intervalText(low: number | null, high: number | null): string {
  if (low === null || high === null) return "no interval";
  return `${Math.round(low * 100)} to ${Math.round(high * 100)}`;
}
