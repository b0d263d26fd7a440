// The list of runs: views, conditions, totals of all that meet them, and a row for each run.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";

import { apiUrl } from "../api/client";
import { useLive } from "../api/live";
import type { RunsOverview, RunSummary } from "../api/types";
import { useApi } from "../api/useApi";
import { count, localDateTime, shortId } from "../model/format";
import { usePageActions } from "../parts/actions";
import { Empty, Failed, Loading } from "../parts/Notices";
import { Said } from "../parts/Said";
import { runAddress } from "../parts/TurnLink";
import { isForPage } from "../parts/typing";
import { useKeyPress } from "../parts/useKeyPress";
import { useMedia } from "../parts/useMedia";
import { COLUMNS, readColumns } from "./columns";
import { ColumnsChooser } from "./ColumnsChooser";
import { FilterLine } from "./FilterLine";
import { FirstSteps } from "./FirstSteps";
import { changed, conditionsIn, hasTotals, heldConditions, isFiltered, orderOf, sortedBy } from "./query";
import styles from "./RunsPage.module.css";
import { RunsTable } from "./RunsTable";
import { Totals } from "./Totals";
import { useRuns } from "./useRuns";
import { Views } from "./Views";

/** What makes a row of the list another one. */
const NEWS =
  "run_started,run_completed,approval_requested,approval_granted,approval_denied,input_requested,input_received";
/** Runs in view that can change are asked for again so often: their calls, and what is found out later, do not come with the news. */
const TICK_MS = 5_000;
/** Totals are asked for again at most so often while runs end. */
const TOTALS_MS = 5_000;
const KEPT_COLUMNS = "runs.columns";

export function RunsPage() {
  const [query, setQuery] = useSearchParams();
  const [, go] = useLocation();
  const page = useRef<HTMLElement>(null);
  const order = orderOf(query);
  const conditions = conditionsIn(query);
  const sorted = { ...conditions, sort: order.by, ascending: order.isAscending || null };
  const runs = useRuns(sorted);
  const { rows, reload, refresh, loadMore } = runs;
  const totals = useTotals(conditions, hasTotals(query), isFiltered(query));
  const known = useMemo(() => new Set(rows.map((run) => run.run)), [rows]);
  const [arrived, setArrived] = useState<ReadonlySet<string>>(new Set());
  const view = useRef({ from: 0, to: 0 });
  useLive(
    "/runs/stream",
    { kinds: NEWS },
    {
      event: (event) => {
        if (known.has(event.run)) refresh(event.run);
        else if (event.kind === "run_started") setArrived((before) => new Set(before).add(event.run));
        if (event.kind === "run_completed") totals.refresh();
      },
      missed: reload,
    },
  );
  useUnderWay(rows, view, refresh);
  const [chosen, setChosen] = useState<number | null>(null);
  const { ticked, tick, clear } = useTicked();
  const [columns, setColumns] = useState(() => readColumns(localStorage.getItem(KEPT_COLUMNS)));
  const isNarrow = useMedia("(max-width: 1000px)");
  const [isChoosing, setChoosing] = useState(false);
  const change = (changes: Record<string, string | readonly string[] | null>) => {
    setChosen(null);
    setQuery((before) => changed(before, changes));
  };
  const compared = comparedRuns(rows, ticked);
  const compare = () => compared !== null && go(`/compare/${compared[0].run}/${compared[1].run}`);
  useKeyPress((event) => {
    if (!isForPage(event)) return;
    const here = chosen === null ? undefined : rows[chosen];
    if (event.key === "j" || event.key === "k")
      setChosen(Math.max(0, Math.min((chosen ?? -1) + (event.key === "j" ? 1 : -1), rows.length - 1)));
    else if (event.key === "Enter" && here !== undefined && event.target === document.body) go(runAddress(here.run));
    else if (event.key === "x" && here !== undefined) tick(here.run);
    else if (event.key === "c") compare();
  });
  usePageActions([
    { label: "Filter the runs", key: "/", run: () => document.getElementById("filter-line")?.focus() },
    { label: "Choose columns", run: () => setChoosing(true) },
    { label: "Load the list again", run: reload },
    ...(compared === null ? [] : [{ label: "Compare the two runs that are ticked", key: "c", run: compare }]),
  ]);
  const refreshList = () => {
    setArrived(new Set());
    reload();
    totals.refresh();
  };
  const onView = useCallback((from: number, to: number) => (view.current = { from, to }), []);
  return (
    <main ref={page} className={styles.page} aria-label="Runs">
      <h1 className="visually-hidden">Runs</h1>
      <div className={styles.head}>
        <Views query={query} all={totals.all} turn={totals.turn} />
        <span className={styles.acts}>
          <button type="button" className="button" onClick={() => setChoosing(true)}>
            Columns
          </button>
          <a className="button" href={apiUrl("/runs", sorted)}>
            JSON
          </a>
        </span>
      </div>
      <FilterLine runs={rows} held={heldConditions(query, localDateTime)} onChange={change} />
      {totals.shown !== null && totals.shown.runs > 0 && (
        <Totals overview={totals.shown} onRange={(since, until) => change({ since, until })} />
      )}
      {runs.error !== null && <Failed error={runs.error} what="the runs" onAgain={reload} />}
      {runs.isStale && rows.length === 0 && runs.error === null && <Loading what="runs" />}
      {runs.isEmpty &&
        (isFiltered(query) ? (
          <Empty>
            No run meets all these conditions.{" "}
            <Link className="go" href="/">
              Take them back
            </Link>
          </Empty>
        ) : (
          <FirstSteps />
        ))}
      {rows.length > 0 && (
        <div className={styles.rows} aria-busy={runs.isStale}>
          <RunsTable
            rows={rows}
            total={totals.shown?.runs ?? null}
            hasMore={runs.hasMore}
            columns={COLUMNS.filter(({ id, isRoomy }) => columns.includes(id) && !(isNarrow && isRoomy))}
            order={order}
            onSort={(by) => change(sortedBy(by, order))}
            chosen={chosen}
            ticked={ticked}
            onTick={tick}
            onMore={loadMore}
            onView={onView}
            page={page}
          />
          <p className={styles.end}>
            {runs.hasMore
              ? `${count(rows.length)} of ${totals.shown === null ? "more" : count(totals.shown.runs)} runs are loaded; others follow as you scroll.`
              : rows.length === 1
                ? "1 run."
                : `All ${count(rows.length)} runs.`}
          </p>
        </div>
      )}
      <div className={styles.bottom} aria-live="polite">
        {ticked.length > 0 && <Ticked compared={compared} onClear={clear} />}
        {arrived.size > 0 && (
          <button type="button" className="button main" onClick={refreshList}>
            {count(arrived.size)} new
          </button>
        )}
      </div>
      {isChoosing && (
        <ColumnsChooser
          shown={columns}
          onChange={(next) => {
            setColumns(next);
            localStorage.setItem(KEPT_COLUMNS, next.join(","));
          }}
          onClose={() => setChoosing(false)}
        />
      )}
    </main>
  );
}

/** Totals of what is shown, and of all runs for the counts of views; asked for again when runs have ended. */
function useTotals(conditions: ReturnType<typeof conditionsIn>, isCounted: boolean, isNarrowed: boolean) {
  const [turn, setTurn] = useState(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const all = useApi<RunsOverview>("/runs/overview", {}, false, turn);
  const narrowed = useApi<RunsOverview>(isNarrowed && isCounted ? "/runs/overview" : null, conditions, false, turn);
  const refresh = useCallback(() => {
    if (timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      setTurn((n) => n + 1);
    }, TOTALS_MS);
  }, []);
  return { all: all.data, shown: !isCounted ? null : isNarrowed ? narrowed.data : all.data, turn, refresh };
}

/** What happened in a run, and its first suspect, are found out soon after its end: so long, its row may change. */
const SETTLES_MS = 60_000;
const isSettling = (run: RunSummary, now: number): boolean =>
  run.outcome.word === "running" || (run.ended !== null && now - Date.parse(run.ended) < SETTLES_MS);

/** Asks again for runs in view that are under way, or ended just now. */
function useUnderWay(
  rows: readonly RunSummary[],
  view: { current: { from: number; to: number } },
  refresh: (run: string) => void,
): void {
  const newest = useRef(rows);
  useEffect(() => {
    newest.current = rows;
  }, [rows]);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState !== "visible") return;
      const { from, to } = view.current;
      for (const run of newest.current.slice(from, to)) if (isSettling(run, Date.now())) refresh(run.run);
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [view, refresh]);
}

/** The runs that are ticked: the last two. */
function useTicked() {
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const tick = (run: string) =>
    setTicked((before) => (before.includes(run) ? before.filter((each) => each !== run) : [...before, run].slice(-2)));
  return { ticked, tick, clear: () => setTicked([]) };
}

/** Two ticked runs, the one that started first on the left; null: there are not two. */
function comparedRuns(rows: readonly RunSummary[], ticked: readonly string[]): [RunSummary, RunSummary] | null {
  const [a, b] = ticked.flatMap((run) => rows.find((each) => each.run === run) ?? []);
  if (a === undefined || b === undefined) return null;
  return Date.parse(a.started) <= Date.parse(b.started) ? [a, b] : [b, a];
}

function Ticked({ compared, onClear }: { compared: [RunSummary, RunSummary] | null; onClear: () => void }) {
  const name = (run: RunSummary) => `${run.name ?? "run"} ${shortId(run.run)}`;
  return (
    <span className={styles.ticked}>
      {compared === null ? (
        "Tick another run to compare them"
      ) : (
        <Link className="button main" href={`/compare/${compared[0].run}/${compared[1].run}`}>
          <span>
            Compare <Said>{name(compared[0])}</Said> with <Said>{name(compared[1])}</Said> <kbd>c</kbd>
          </span>
        </Link>
      )}{" "}
      <button type="button" className="button" onClick={onClear}>
        Clear
      </button>
    </span>
  );
}
