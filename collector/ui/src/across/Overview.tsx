import { Link } from "wouter";

import type { CompressionOutcomes, Measured, RunStatistics, SuccessRate } from "../api/types";
import { count, duration, money, percent, shortId } from "../model/format";
import { About, Answer, type Question } from "./Answer";
import { runsLink, toolCondition } from "./links";
import { OverTime } from "./OverTime";
import { Evidence, Rate } from "./Rate";
import table from "../parts/Table.module.css";
import styles from "./Across.module.css";
import { Said } from "../parts/Said";

/** Names of measures, and how their numbers are written. */
const MEASURES: Record<string, [string, (value: number) => string]> = {
  turns: ["model calls", figure],
  tool_calls: ["tool calls", figure],
  errors: ["errors", figure],
  compressions: ["compressions", figure],
  input_tokens: ["tokens in", figure],
  output_tokens: ["tokens out", figure],
  context_peak: ["context peak, tokens", figure],
  seconds: ["duration", (value) => duration(value * 1000)],
  cost: ["cost", money],
};

/** What runs take, what comes of them, which tools they use, and how compression goes with the outcome. */
export function Overview({ params, where, outcome }: Question) {
  return (
    <>
      <Answer<RunStatistics> path="statistics" params={params} what="the statistics">
        {(data) => (
          <>
            <About population={data.population} where={where} outcome={outcome} />
            <OverTime periods={data.periods} where={where} />
            <div className={styles.columns}>
              <section aria-label="What a run takes">
                <h2>What a run takes</h2>
                <div className={table.table}>
                  <table>
                    <thead>
                      <tr>
                        <th>per run</th>
                        <th className={table.r}>mean</th>
                        <th className={table.r}>p50</th>
                        <th className={table.r}>p95</th>
                        <th className={table.r}>most</th>
                        <th className={table.r}>runs</th>
                      </tr>
                    </thead>
                    <tbody>
                      {Object.entries(data.measures).map(([name, measured]) => (
                        <MeasureRow key={name} name={name} measured={measured} where={where} />
                      ))}
                    </tbody>
                  </table>
                </div>
              </section>
              <section aria-label="What came of them">
                <h2>What came of them</h2>
                <div className={table.table}>
                  <table>
                    <thead>
                      <tr>
                        <th>status</th>
                        <th className={table.r}>runs</th>
                        <th className={table.r}>share</th>
                      </tr>
                    </thead>
                    <tbody>
                      {Object.entries(data.statuses).map(([status, runs]) => (
                        <tr key={status}>
                          <td>
                            <Link className="link" href={runsLink(where, { status })}>
                              {status}
                            </Link>
                          </td>
                          <td className={table.r}>{count(runs)}</td>
                          <td className={table.r}>{percent(runs / data.population.runs)}</td>
                        </tr>
                      ))}
                      <tr>
                        <td>succeeded</td>
                        <td colSpan={2} className={table.r}>
                          <Rate rate={data.success} />
                        </td>
                      </tr>
                    </tbody>
                  </table>
                </div>
                <h2>Tools</h2>
                {data.tools.length === 0 ? (
                  <p className="sub">No run called a tool.</p>
                ) : (
                  <div className={table.table}>
                    <table>
                      <thead>
                        <tr>
                          <th>tool</th>
                          <th className={table.r}>calls</th>
                          <th className={table.r}>failed</th>
                          <th className={table.r}>runs</th>
                        </tr>
                      </thead>
                      <tbody>
                        {data.tools.map((tool) => (
                          <tr key={tool.tool}>
                            <td>
                              <Link className="link" href={runsLink(where, toolCondition(tool.tool))}>
                                <Said>{tool.tool}</Said>
                              </Link>
                            </td>
                            <td className={table.r}>{count(tool.calls)}</td>
                            <td className={`${table.r} ${tool.failed > 0 ? "ink-bad" : ""}`}>{count(tool.failed)}</td>
                            <td className={table.r}>{count(tool.runs)}</td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                )}
              </section>
            </div>
          </>
        )}
      </Answer>
      <Answer<CompressionOutcomes> isSecond path="compression" params={params} what="compressions and outcomes">
        {(data) => <Compressed data={data} />}
      </Answer>
    </>
  );
}

function MeasureRow({ name, measured, where }: { name: string; measured: Measured; where: Question["where"] }) {
  const [label, write] = MEASURES[name] ?? [name.replaceAll("_", " "), figure];
  return (
    <tr>
      <td>{label}</td>
      <td className={table.r}>{write(measured.mean)}</td>
      <td className={table.r}>{write(measured.p50)}</td>
      <td className={table.r}>{write(measured.p95)}</td>
      <td className={table.r}>
        <Link className="link" href={`/runs/${measured.max_run}`} title={`run ${shortId(measured.max_run)}`}>
          {write(measured.max)}
        </Link>
      </td>
      <td className={table.r}>
        <Link className="link" href={runsLink(where)}>
          {count(measured.count)}
        </Link>
      </td>
    </tr>
  );
}

function Compressed({ data }: { data: CompressionOutcomes }) {
  const rows: [string, SuccessRate][] = Object.entries(data.by_compressions).map(([times, rate]) => [
    times === "1" ? "once" : times === "0" ? "never" : `${times} times`,
    rate,
  ]);
  return (
    <section aria-label="Compression and outcome">
      <h2>Compression and outcome</h2>
      <div className={`${table.table} ${table.narrow}`}>
        <table>
          <thead>
            <tr>
              <th>context was compressed</th>
              <th>succeeded, with 95 % interval</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, rate]) => (
              <tr key={name}>
                <td>{name}</td>
                <td>
                  <Rate rate={rate} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="sub">
        {data.p === null
          ? "Too few runs with or without compression to compare them: each side needs 5."
          : `Never against ever: p = ${data.p.toPrecision(2)} (Fisher's exact test).`}{" "}
        Longer runs are compressed more, so this says nothing about causes. <Evidence items={data.evidence} />
      </p>
    </section>
  );
}

function figure(value: number): string {
  return value >= 100 || Number.isInteger(value) ? count(Math.round(value)) : value.toFixed(1);
}
