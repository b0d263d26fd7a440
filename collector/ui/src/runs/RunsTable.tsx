import { useEffect, useState } from "react";
import { Link } from "wouter";

import type { RunSummary } from "../api/types";
import { ago, count, duration, money, shortId } from "../model/format";

type Props = { runs: readonly RunSummary[]; chosen: number | null; onChoose: (n: number) => void };

/** One row a run. A click looks at it beside the list; its name is the link to its page. */
export function RunsTable({ runs, chosen, onChoose }: Props) {
  const now = useNow(10_000);
  return (
    <table>
      <thead>
        <tr>
          <th>status</th><th>run</th><th className="optional">id</th><th>started</th><th className="r">duration</th><th className="r">model / tool calls</th>
          <th className="r">tokens in → out</th><th className="r optional">cost</th><th className="r">context peak</th><th className="r">errors</th>
          <th className="optional">session</th><th className="optional">user</th><th>tags</th><th>forks</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run, n) => (
          <tr key={run.run} className={n === chosen ? "chosen" : ""} onClick={() => onChoose(n)}>
            <td><Status status={run.status} /></td>
            <td className="name"><Link href={`/runs/${run.run}`} onClick={(event) => event.stopPropagation()}>{run.name ?? "unnamed"}</Link></td>
            <td className="optional"><code className="sub">{shortId(run.run)}</code></td>
            <td title={`${new Date(run.started).toLocaleString()} · ${run.started} (UTC)`}>{ago(run.started, now)}</td>
            <td className="r">{duration(run.elapsed_ms)}</td>
            <td className="r">{run.llm_calls} / {run.tool_calls}</td>
            <td className="r">{count(run.input_tokens)} → {count(run.output_tokens)}</td>
            <td className="r optional">{money(run.cost)}</td>
            <td className="r">{run.context_peak === null ? "–" : count(run.context_peak)}{run.compressions > 0 && <span className="tag cut">{run.compressions} compressed</span>}</td>
            <td className={run.errors > 0 ? "r ink-bad" : "r"}>{run.errors}</td>
            <td className="optional">{run.session}</td><td className="optional">{run.user}</td><td>{run.tags.join(", ")}</td>
            <td>{run.fork_of !== null ? `of ${shortId(run.fork_of)} at ${run.fork_at ?? "?"}` : run.fork_count > 0 ? count(run.fork_count) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const INK: Record<string, string> = { completed: "ink-good", failed: "ink-bad", running: "ink-model", cancelled: "ink-state" };

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
