// The list of runs: filters in the address, histogram that brushes the time, live arrivals, a look beside the list.
import { useEffect, useMemo, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";

import { apiUrl } from "../api/client";
import { useLive } from "../api/live";
import type { Page, RunSummary } from "../api/types";
import { useApi } from "../api/useApi";
import { count, shortId } from "../model/format";
import { Empty, Failed, Loading } from "../parts/Notices";
import { isTyping } from "../parts/TopBar";
import { Filters } from "./Filters";
import { FirstSteps } from "./FirstSteps";
import { Histogram } from "./Histogram";
import { Peek } from "./Peek";
import { RunsTable } from "./RunsTable";

const SHOWN = 200;
/** Conditions that the API takes; what else stands in the address is not sent. */
const CONDITIONS = [
  "text",
  "status",
  "agent",
  "model",
  "tool",
  "tag",
  "session",
  "user",
  "since",
  "until",
  "fork_of",
  "trace",
  "linked",
  "score",
];

export function RunsPage() {
  const [query, setQuery] = useSearchParams();
  const [, go] = useLocation();
  const [asked, setAsked] = useState(0);
  const [arrived, setArrived] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<number | null>(null);
  const params = Object.fromEntries(CONDITIONS.map((name) => [name, query.get(name)]));
  const { data, error, isStale } = useApi<Page<RunSummary>>("/runs", { ...params, limit: SHOWN }, false, asked);
  const runs = useMemo(() => data?.items ?? [], [data]);
  const known = useMemo(() => new Set(runs.map((run) => run.run)), [runs]);
  useLive(
    "/runs/stream",
    { kinds: "run_started,run_completed" },
    {
      event: (event) => {
        if (known.has(event.run)) setAsked((n) => n + 1);
        else setArrived((before) => new Set(before).add(event.run));
      },
      missed: () => setAsked((n) => n + 1),
    },
  );
  const peeked = query.get("peek");
  const peek = (run: string | null) =>
    setQuery(
      (before) => {
        if (run === null) before.delete("peek");
        else before.set("peek", run);
        return before;
      },
      { replace: true },
    );
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const at = chosen ?? -1;
      const here = runs[at];
      if (event.key === "j" || event.key === "k") {
        const next = Math.max(0, Math.min(at + (event.key === "j" ? 1 : -1), runs.length - 1));
        setChosen(next);
        if (peeked !== null && runs[next] !== undefined) peek(runs[next].run);
      } else if (event.key === "Enter" && here !== undefined && event.target === document.body) go(`/runs/${here.run}`);
      else if (event.key === " " && here !== undefined && event.target === document.body) {
        event.preventDefault();
        peek(peeked === here.run ? null : here.run);
      } else if (event.key === "Escape") peek(null);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const tick = (run: string) =>
    setTicked((before) => (before.includes(run) ? before.filter((each) => each !== run) : [...before, run].slice(-2)));
  const isFiltered = CONDITIONS.some((name) => query.has(name));
  const refreshList = () => {
    setArrived(new Set());
    setAsked((n) => n + 1);
  };
  return (
    <main className="runs" aria-label="Runs">
      <h1 className="visually-hidden">Runs</h1>
      <Filters
        runs={runs}
        get={(name) => query.get(name)}
        set={(changes) =>
          setQuery((before) => {
            for (const [name, value] of Object.entries(changes)) {
              if (value === null || value === "") before.delete(name);
              else before.set(name, value);
            }
            return before;
          })
        }
        json={apiUrl("/runs", params)}
      />
      <Histogram
        runs={runs}
        isCut={data?.next_cursor != null}
        onRange={(since, until) =>
          setQuery((before) => {
            before.set("since", since);
            before.set("until", until);
            return before;
          })
        }
      />
      <div className="table" aria-busy={isStale}>
        {error !== null && <Failed error={error} />}
        {data === null && error === null && <Loading what="runs" />}
        {data !== null &&
          runs.length === 0 &&
          (isFiltered ? <Empty>No run meets all these conditions.</Empty> : <FirstSteps />)}
        {runs.length > 0 && (
          <RunsTable
            runs={runs}
            chosen={chosen}
            onChoose={(n) => {
              setChosen(n);
              peek(runs[n]?.run ?? null);
            }}
            ticked={ticked}
            onTick={tick}
          />
        )}
        {data?.next_cursor != null && (
          <p className="notice sub">
            The newest {count(runs.length)} runs that meet the conditions are shown: narrow them, or the time, to see
            others.
          </p>
        )}
        {ticked.length > 0 && <Ticked runs={runs} ticked={ticked} onClear={() => setTicked([])} />}
        {arrived.size > 0 && (
          <button type="button" className="button main arrived" onClick={refreshList}>
            {arrived.size} new
          </button>
        )}
      </div>
      {peeked !== null && <Peek run={peeked} onClose={() => peek(null)} />}
    </main>
  );
}

/** What was ticked to be compared. The run that started first stands left. */
function Ticked({
  runs,
  ticked,
  onClear,
}: {
  runs: readonly RunSummary[];
  ticked: readonly string[];
  onClear: () => void;
}) {
  const places = ticked.map((run) => runs.findIndex((each) => each.run === run)).sort((a, b) => b - a);
  const [first, second] = places.map((place) => runs[place]);
  return (
    <div className="arrived ticked" role="status">
      {first !== undefined && second !== undefined ? (
        <Link className="button main" href={`/compare/${first.run}/${second.run}`}>
          Compare {first.name ?? "run"} {shortId(first.run)} with {second.name ?? "run"} {shortId(second.run)}
        </Link>
      ) : (
        "Tick another run to compare them"
      )}{" "}
      <button type="button" className="button" onClick={onClear}>
        Clear
      </button>
    </div>
  );
}
