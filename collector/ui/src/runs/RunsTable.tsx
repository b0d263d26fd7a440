import { useEffect, useState } from "react";
import { Link } from "wouter";

import type { RunSummary } from "../api/types";
import { ago, count, duration, localDateTime, money, percent, shortId } from "../model/format";

type Props = {
  runs: readonly RunSummary[];
  chosen: number | null;
  onChoose: (n: number) => void;
  ticked: readonly string[];
  onTick: (run: string) => void;
};

/** One row a run. A click looks at it beside the list; its name is the link to its page; two that are ticked are compared. */
export function RunsTable({ runs, chosen, onChoose, ticked, onTick }: Props) {
  const now = useNow(runs.some((run) => run.status === "running") ? 1_000 : 10_000);
  const took = (run: RunSummary) =>
    run.status === "running" ? Math.max(0, now - Date.parse(run.started)) : run.elapsed_ms;
  const longest = runs.reduce((most, run) => Math.max(most, run.elapsed_ms ?? 0), 1);
  return (
    <table>
      <thead>
        <tr>
          <th className="tick">
            <span className="visually-hidden">compare</span>
          </th>
          <th>status</th>
          <th>run</th>
          <th className="optional">id</th>
          <th>started</th>
          <th className="r">duration</th>
          <th className="r optional">events</th>
          <th className="r roomy" title="calls of models / of tools">
            calls
          </th>
          <th className="r roomy">tokens in → out</th>
          <th className="r optional">cost</th>
          <th className="r roomy">context peak</th>
          <th className="r roomy">errors</th>
          <th className="optional">session</th>
          <th className="optional">user</th>
          <th className="roomy">tags</th>
          <th className="roomy">forks</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run, n) => (
          <tr key={run.run} className={n === chosen ? "chosen" : ""} onClick={() => onChoose(n)}>
            <td className="tick" onClick={(event) => event.stopPropagation()}>
              <input
                type="checkbox"
                checked={ticked.includes(run.run)}
                onChange={() => onTick(run.run)}
                aria-label={`Compare ${run.name ?? "run"} ${shortId(run.run)}`}
                title="Tick two runs to compare them"
              />
            </td>
            <td>
              <Status status={run.status} />
            </td>
            <td className="name">
              <Link href={`/runs/${run.run}`} onClick={(event) => event.stopPropagation()}>
                {run.name ?? "unnamed"}
              </Link>
            </td>
            <td className="optional">
              <code className="sub">{shortId(run.run)}</code>
            </td>
            <td title={`${localDateTime(run.started)} · ${run.started} (UTC)`}>{ago(run.started, now)}</td>
            <td className="r took">
              <span>
                <Bar share={(run.elapsed_ms ?? 0) / longest} />
                {duration(took(run))}
              </span>
            </td>
            <td className="r optional">{count(run.events)}</td>
            <td className="r roomy">
              {run.llm_calls} / {run.tool_calls}
            </td>
            <td className="r roomy">
              {count(run.input_tokens)} → {count(run.output_tokens)}
            </td>
            <td className="r optional">{money(run.cost)}</td>
            <td className="r roomy peak" title={peakTitle(run)}>
              {run.context_peak === null ? "–" : count(run.context_peak)}
              {run.context_peak !== null && run.context_limit !== null && (
                <span className="sub"> {percent(run.context_peak / run.context_limit)}</span>
              )}
              {run.compressions > 0 && <span className="tag cut">{run.compressions} compressed</span>}
            </td>
            <td className={run.errors > 0 ? "r roomy ink-bad" : "r roomy"}>{run.errors}</td>
            <td className="optional">{run.session}</td>
            <td className="optional">{run.user}</td>
            <td className="roomy">{run.tags.join(", ")}</td>
            <td className="roomy">
              {run.fork_of !== null ? (
                <>
                  of <code>{shortId(run.fork_of)}</code> at {run.fork_at ?? "?"}
                </>
              ) : run.fork_count > 0 ? (
                count(run.fork_count)
              ) : (
                ""
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What the peak is a share of. */
export function peakTitle(run: Pick<RunSummary, "context_peak" | "context_limit">): string {
  if (run.context_peak === null) return "No provider counted the tokens of a context.";
  return run.context_limit === null
    ? "The largest context, in tokens; the limit of its model is not known."
    : `The largest context: ${count(run.context_peak)} of ${count(run.context_limit)} tokens that its model takes.`;
}

/** A duration as a bar beside its number; the longest run in the list takes all of it. */
function Bar({ share }: { share: number }) {
  return (
    <svg className="optional" viewBox="0 0 100 5" preserveAspectRatio="none" aria-hidden="true">
      <rect width={share * 100} height="5" />
    </svg>
  );
}

const INK: Record<string, string> = {
  completed: "ink-good",
  failed: "ink-bad",
  running: "ink-model",
  cancelled: "ink-state",
  lost: "ink-bad",
};

/** The status as a word with a dot of its colour. */
export function Status({ status }: { status: string }) {
  return <span className={`status ${status} ${INK[status] ?? ""}`}>{status}</span>;
}

function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
