import { Link } from "wouter";

import type { DecisionPatterns, TransitionGraph } from "../api/types";
import { count, percent } from "../model/format";
import { About, Answer, type Question } from "./Answer";
import { runsLink, toolCondition } from "./links";
import { Evidence, Rate } from "./Rate";
import table from "../parts/Table.module.css";
import styles from "./Across.module.css";
import { Said } from "../parts/Said";

const SHOWN = 60;

/** What is called after what, and which choices come with success. */
export function Choices({ params, where, outcome }: Question) {
  return (
    <>
      <Answer<DecisionPatterns> path="patterns" params={{ ...params, limit: String(SHOWN) }} what="the patterns">
        {(data) => (
          <section aria-label="Decision patterns">
            <About population={data.population} where={where} outcome={outcome} />
            <h2>Decision patterns</h2>
            {data.patterns.length === 0 ? (
              <p className="sub">Nothing that 5 runs or more have in common.</p>
            ) : (
              <div className={table.table}>
                <table>
                  <thead>
                    <tr>
                      <th>after</th>
                      <th>with result</th>
                      <th>was chosen</th>
                      <th className={table.r}>times</th>
                      <th className={table.r}>share</th>
                      <th className={table.r}>runs</th>
                      <th>succeeded with it</th>
                      <th>where it was not chosen</th>
                      <th>for example</th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.patterns.map((each, n) => (
                      <tr key={n}>
                        <td>
                          <Said>{each.tool}</Said>
                        </td>
                        <td className={each.result === "failed" ? "ink-bad" : ""}>{each.result ?? ""}</td>
                        <td>
                          <Link className="link" href={runsLink(where, toolCondition(each.choice, each.tool))}>
                            <Said>{each.choice}</Said>
                          </Link>
                        </td>
                        <td className={table.r}>{count(each.times)}</td>
                        <td className={table.r}>{percent(each.share)}</td>
                        <td className={table.r}>{count(each.runs)}</td>
                        <td>
                          <Rate rate={each.success} />
                        </td>
                        <td>
                          <Rate rate={each.otherwise} />
                        </td>
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
              {data.rare > 0 && `${count(data.rare)} choices that fewer than 5 runs have are left out. `}
              {data.patterns.length >= SHOWN && `The ${SHOWN} of most runs are shown. `}
              Bands are 95 % Wilson intervals: few runs have wide ones.
            </p>
          </section>
        )}
      </Answer>
      <Answer<TransitionGraph> isSecond path="transitions" params={params} what="the transitions">
        {(data) => <Transitions data={data} where={where} />}
      </Answer>
    </>
  );
}

function Transitions({ data, where }: { data: TransitionGraph; where: Question["where"] }) {
  const shown = data.transitions.slice(0, SHOWN);
  return (
    <section aria-label="Transitions">
      <h2>Which tool follows which</h2>
      <div className={table.table}>
        <table>
          <thead>
            <tr>
              <th>from</th>
              <th>to</th>
              <th>share of all that follows</th>
              <th className={table.r}>times</th>
              <th className={table.r}>runs</th>
              <th>succeeded</th>
              <th>for example</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((each, n) => (
              <tr key={n}>
                <td>
                  <Said>{each.source}</Said>
                </td>
                <td>
                  <Link className="link" href={runsLink(where, toolCondition(each.to, each.source))}>
                    <Said>{each.to}</Said>
                  </Link>
                </td>
                <td>
                  <Share of={each.share} />
                </td>
                <td className={table.r}>{count(each.times)}</td>
                <td className={table.r}>{count(each.runs)}</td>
                <td>
                  <Rate rate={each.success} />
                </td>
                <td>
                  <Evidence items={each.evidence} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {data.transitions.length > SHOWN && (
        <p className="sub">
          The {SHOWN} most frequent of {count(data.transitions.length)} are shown.
        </p>
      )}
    </section>
  );
}

/** A share as a bar with its number. */
export function Share({ of }: { of: number }) {
  return (
    <span className={styles.rate}>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect className={styles.track} x={0} y={4} width={100} height={2} />
        <rect className={styles.bar} x={0} y={2} width={Math.max(0.5, of * 100)} height={6} />
      </svg>
      <span className="num">{percent(of)}</span>
    </span>
  );
}
