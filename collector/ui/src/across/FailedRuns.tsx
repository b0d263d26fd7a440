import { Link } from "wouter";

import type { FailureCluster, FailureClusters, OutcomeDifference, OutcomeDifferences } from "../api/types";
import { count, percent } from "../model/format";
import { About, Answer, type Question } from "./Answer";
import { failedRuns, featureCondition, runsLink, toolCondition } from "./links";
import { Evidence } from "./Rate";
import table from "../parts/Table.module.css";
import styles from "./Across.module.css";
import { Said } from "../parts/Said";

const SHOWN = 50;

/** What distinguishes failed from succeeded runs, and how runs fail. */
export function FailedRuns({ params, where, outcome }: Question) {
  return (
    <>
      <Answer<OutcomeDifferences>
        path="differences"
        params={{ ...params, limit: String(SHOWN) }}
        what="the differences"
      >
        {(data) => (
          <section aria-label="What distinguishes failed from succeeded runs">
            <About population={data.population} where={where} outcome={outcome} />
            <h2>What distinguishes failed from succeeded runs</h2>
            {data.differences.length > 0 && (
              <div className={table.table}>
                <table>
                  <thead>
                    <tr>
                      <th>feature</th>
                      <th className={table.r}>failed</th>
                      <th className={table.r}>succeeded</th>
                      <th className={table.r}>p</th>
                      <th className={table.r}>q</th>
                      <th>q ≤ 0.05</th>
                      <th>failed, for example</th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.differences.map((each) => (
                      <tr key={each.feature} className={each.significant ? "" : (styles.weak ?? "")}>
                        <td>
                          <Link className="link" href={runsLink(where, featureCondition(each.feature))}>
                            <Said>{each.feature}</Said>
                          </Link>
                        </td>
                        <td className={table.r}>{side(each, each.failed)}</td>
                        <td className={table.r}>{side(each, each.succeeded)}</td>
                        <td className={table.r}>{each.p.toPrecision(2)}</td>
                        <td className={table.r}>{each.q.toPrecision(2)}</td>
                        <td>{each.significant ? <b>yes</b> : "no"}</td>
                        <td>
                          <Evidence items={each.evidence} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
            <p className="sub">
              {data.note ??
                `${count(data.tried)} features were tested, and q is corrected for all of them (${data.correction === "benjamini_hochberg" ? "Benjamini and Hochberg" : data.correction}). None of this says that one thing causes the other.`}
            </p>
          </section>
        )}
      </Answer>
      <Answer<FailureClusters> isSecond path="failures" params={params} what="the failures">
        {(data) => (
          <section aria-label="How runs fail">
            <h2>How runs fail</h2>
            {data.clusters.length === 0 ? (
              <p className="sub">No run failed.</p>
            ) : (
              <div className={table.table}>
                <table>
                  <thead>
                    <tr>
                      <th>last error</th>
                      <th>last tool calls</th>
                      <th className={table.r}>runs</th>
                      <th className={table.r}>of all failed</th>
                      <th>a pattern</th>
                      <th>last call made because of</th>
                      <th>for example</th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.clusters.map((each, n) => (
                      <Cluster key={n} cluster={each} where={{ ...where, ...failedRuns(outcome) }} />
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </section>
        )}
      </Answer>
    </>
  );
}

/** "13 of 116" of a test of shares, "median 7" of a test of numbers. */
function side(difference: OutcomeDifference, value: unknown): string {
  if (difference.test !== "fisher_exact") return `median ${Number(Number(value).toPrecision(3))}`;
  const { runs, of } = value as { runs: number; of: number };
  return `${count(runs)} of ${count(of)}`;
}

function Cluster({ cluster, where }: { cluster: FailureCluster; where: Question["where"] }) {
  const last = cluster.last.map((step) => step.tool);
  const error =
    cluster.error_type === null
      ? "none"
      : `${cluster.error_type}${cluster.about === null ? "" : ` in ${cluster.about}`}`;
  const why = [
    ...Object.entries(cluster.attributions),
    ...Object.entries(cluster.suspects).map(([name, runs]): [string, number] => [`${name} from nowhere`, runs]),
  ];
  return (
    <tr>
      <td>
        <Link className="link" href={runsLink(where, toolCondition(last.at(-1) ?? null))}>
          <Said>{error}</Said>
        </Link>
      </td>
      <td>
        <Said>
          {cluster.last.map((step) => `${step.tool} ${step.result === "completed" ? "✓" : step.result}`).join(" → ") ||
            "no tool was called"}
        </Said>
      </td>
      <td className={table.r}>{count(cluster.runs)}</td>
      <td className={table.r}>{percent(cluster.share)}</td>
      <td>{cluster.pattern ? <b>yes</b> : <span className="sub">fewer than 5 runs</span>}</td>
      <td className="sub">
        <Said>{why.map(([name, runs]) => `${name.replaceAll("_", " ")} (${runs})`).join(", ")}</Said>
      </td>
      <td>
        <Evidence items={cluster.evidence} />
      </td>
    </tr>
  );
}
