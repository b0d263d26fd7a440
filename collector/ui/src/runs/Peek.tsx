import { Link } from "wouter";

import type { RunDetail } from "../api/types";
import { useApi } from "../api/useApi";
import { compact, count, duration, localDateTime, money, percent, shortId } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import { Status } from "./RunsTable";

/** A run beside the list. */
export function Peek({ run, onClose }: { run: string; onClose: () => void }) {
  const { data, error } = useApi<RunDetail>(`/runs/${encodeURIComponent(run)}`);
  return (
    <aside className="peek" aria-label="Run">
      <div className="bar-head">
        <h2>{data?.name ?? "Run"}</h2> <code>{shortId(run)}</code>
        <span className="r">
          <button type="button" className="icon" onClick={onClose} aria-label="Close">
            ✕
          </button>
        </span>
      </div>
      <div className="body">
        {error !== null && <Failed error={error} />}
        {data === null && error === null && <Loading what="the run" />}
        {data !== null && <Facts run={data} />}
        <Link className="button main" href={`/runs/${run}`}>
          Open
        </Link>
      </div>
    </aside>
  );
}

function Facts({ run }: { run: RunDetail }) {
  const facts: [string, string][] = [
    ["id", run.run],
    ["started", localDateTime(run.started)],
    ["duration", duration(run.elapsed_ms)],
    ["events", count(run.events)],
    ["calls", `${count(run.llm_calls)} of models, ${count(run.tool_calls)} of tools`],
    ["errors", count(run.errors)],
    [
      "context peak",
      run.context_peak === null
        ? "–"
        : `${count(run.context_peak)} tokens${run.context_limit === null ? "" : `, ${percent(run.context_peak / run.context_limit)} of ${count(run.context_limit)}`}`,
    ],
    ["models", run.models.join(", ") || "–"],
    ["tools", run.tools.join(", ") || "–"],
    ["tokens", `${count(run.input_tokens)} → ${count(run.output_tokens)}`],
    ["cost", money(run.cost)],
    ["forks", run.forks.length === 0 ? "none" : count(run.fork_count)],
  ];
  if (run.metadata !== null) facts.push(["metadata", compact(run.metadata)]);
  return (
    <>
      <Status status={run.status} />
      {run.error !== null && (
        <div className="failed">
          {run.error.type}: {run.error.message}
        </div>
      )}
      <dl>
        {facts.map(([name, value]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
