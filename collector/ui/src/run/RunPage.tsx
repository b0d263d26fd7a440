// The run page: head, verdict, turns, the turn, and the panel below. One reducer for all; the address is its state.
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { useSearchParams } from "wouter";

import type { RunDetail, RunVerdict, Suspects } from "../api/types";
import { useApi } from "../api/useApi";
import { Failed, Loading } from "../parts/Notices";
import { saidPlainly } from "../parts/said";
import { Conversation } from "./conversation/Conversation";
import { FindBar } from "./FindBar";
import { Head } from "./Head";
import { LiveNotice } from "./live/LiveNotice";
import { type LiveRun, useLiveRun } from "./live/useLiveRun";
import { useAdded } from "./notes/refresh";
import { OnPageProvider, runPath, type OnPage } from "./OnPage";
import { asksForSuspects, openingOf } from "./opening";
import { address, asWritten, opened, pageReducer } from "./page";
import { Panel } from "./panel/Panel";
import styles from "./RunPage.module.css";
import { TurnDock } from "./TurnDock";
import { type ShownHit, TurnView } from "./turn/TurnView";
import { marksOf, turnAt, turnsOf } from "./turns/rows";
import { TurnList } from "./turns/TurnList";
import { useAtMost } from "./useAtMost";
import { useFind } from "./useFind";
import { useRunKeys } from "./useRunKeys";
import { useTurns } from "./useTurns";
import { Verdict } from "./verdict/Verdict";

/** The page stands still for so long before its moment becomes an entry of the browser's history. */
const REST_MS = 250;
/** Figures of a run that goes on are asked for again at most this often. */
const NEWS_MS = 2000;
/** A run that failed waits so long for its suspects before it opens elsewhere. */
const PATIENCE_MS = 1200;
/** Of more events, suspects take seconds: the page opens without them. */
const LONG_RUN = 5_000;

export function RunPage({ run: name }: { run: string }) {
  const [again, setAgain] = useState(0);
  const { data: run, error } = useApi<RunDetail>(runPath(name), {}, false, again);
  const isUnknown = error?.status === 404;
  useEffect(() => {
    if (!isUnknown) return;
    const timer = setInterval(() => setAgain((n) => n + 1), NEWS_MS);
    return () => clearInterval(timer);
  }, [isUnknown]);
  if (error !== null && run === null)
    return (
      <main>
        <Failed error={error} isPage />
        {isUnknown && <p className="notice">A run that has just begun arrives in a moment: it is looked for again.</p>}
      </main>
    );
  if (run === null)
    return (
      <main>
        <Loading what="the run" />
      </main>
    );
  return <OneRun run={run} onNews={() => setAgain((n) => n + 1)} />;
}

function OneRun({ run, onNews }: { run: RunDetail; onNews: () => void }) {
  const [query, setQuery] = useSearchParams();
  const [state, dispatch] = useReducer(pageReducer, query, opened);
  const isRunning = run.status === "running";
  const live = useLiveRun(run.run, isRunning, run.events);
  const last = Math.max(1, live.last);
  const news = useNews(isRunning, live, useAdded(), onNews);
  const { data: verdict, error: noVerdict } = useApi<RunVerdict>(`${runPath(run.run)}/verdict`, {}, false, news);
  const { rows, isWhole, isKnown, error: noRows } = useTurns(run.run, state.at, news);
  const isReady = useOnce(isKnown || isWhole);
  const isLong = run.events > LONG_RUN;
  const isSuspected = asksForSuspects(verdict);
  const mayAsk = isSuspected && (!isLong || isReady);
  const suspected = useApi<Suspects>(mayAsk ? `${runPath(run.run)}/suspects` : null, {}, run.ended !== null);
  const suspects = isSuspected ? suspected.data : null;
  const turns = useMemo(() => turnsOf(rows), [rows]);
  const marks = useMemo(() => marksOf(suspects, rows, turns), [suspects, rows, turns]);

  const mayWait = isSuspected && !isLong && suspects === null && suspected.error === null;
  const isPatient = usePatience(mayWait);
  useEffect(() => {
    if (verdict === null || (rows.length === 0 && !isWhole) || isPatient) return;
    const { seq, follow } = openingOf(verdict, suspects, turns, last);
    dispatch({ type: "open", seq, follow });
    // Where a run opens does not change because it grows: following does that.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [verdict === null, verdict?.outcome.word, suspects, turns.length === 0, isWhole, isPatient]);
  useEffect(() => {
    if (run.status === "running") dispatch({ type: "grew", last });
  }, [run.status, last]);
  useAddress(state, query, setQuery, dispatch);

  const go = useCallback((seq: number) => dispatch({ type: "go", seq }), []);
  const find = useFind(run.run, state.found, dispatch);
  useRunKeys({ run: run.run, state, dispatch, rows, turns, isWhole, suspects, last, verdict, find });
  useTitle(run.name);
  const answerSeq = verdict?.answer_seq ?? null;
  const onPage = useMemo<OnPage>(
    () => ({
      run,
      rows,
      turns,
      suspects,
      marks,
      lastAnswer: answerSeq === null ? undefined : turnAt(turns, answerSeq),
      go,
      news,
      live,
    }),
    [run, rows, turns, suspects, marks, answerSeq, go, news, live],
  );
  // While a long run loads, the turn of a later event is not known: no other one stands for it.
  const turn = isKnown ? turnAt(turns, state.at) : undefined;
  const foundHit = state.found?.hits?.[state.found.place];
  const foundText = state.found?.text ?? "";
  const hit = useMemo<ShownHit | null>(
    () => (foundHit === undefined ? null : { hit: foundHit, marked: asWritten(foundHit, foundText) }),
    [foundHit, foundText],
  );
  const error = noRows ?? noVerdict;
  return (
    <OnPageProvider value={onPage}>
      <main className={styles.page} aria-label={`Run ${saidPlainly(run.name ?? "")}`}>
        <Head run={run} verdict={verdict} state={state} dispatch={dispatch} at={state.at} turn={turn} />
        <Verdict
          run={run}
          verdict={verdict}
          suspects={suspects}
          isLooking={isSuspected && suspected.data === null && suspected.error === null}
          folded={state.folded}
          onFold={() => dispatch({ type: "fold" })}
        />
        <LiveNotice live={live} rows={rows} isWhole={isWhole} isRunning={isRunning} outcome={verdict?.outcome.word} />
        {find.isOpen && <FindBar find={find} found={state.found} turns={turns} dispatch={dispatch} />}
        {error !== null && rows.length === 0 ? (
          <Failed error={error} />
        ) : state.view === "conversation" ? (
          <Conversation at={state.at} turn={turn} onFind={find.open} />
        ) : (
          <div className={styles.columns}>
            <TurnList
              at={state.at}
              turn={turn}
              isWhole={isWhole}
              isLive={run.status === "running"}
              following={state.following}
              onFollow={(on) => dispatch({ type: "follow", on, last })}
              onFind={find.open}
            />
            <TurnView at={state.at} turn={turn} isEmpty={isWhole && turns.length === 0} hit={hit} />
          </div>
        )}
        <Panel
          run={run}
          rows={rows}
          at={state.at}
          turn={turn}
          onGo={go}
          range={state.range}
          onRange={(range) => dispatch({ type: "range", range })}
          panel={state.panel}
          onPanel={(panel) => dispatch({ type: "panel", panel })}
          suspects={suspects}
          following={state.following}
          now={last}
          isReady={isReady}
        />
        <TurnDock at={state.at} turn={turn} />
      </main>
    </OnPageProvider>
  );
}

/**
 * A number that changes with what became known of a run, not with each of its events: the run's figures are asked for again
 * then, once it has ended, and when this page `added` a score or a note.
 */
function useNews(isRunning: boolean, live: LiveRun, added: number, onNews: () => void): number {
  const known = live.last + live.changes + (live.hasEnded || !isRunning ? 0.5 : 0) + added;
  const news = useAtMost(known, isRunning && !live.hasEnded ? NEWS_MS : 0);
  const told = useRef(news);
  useEffect(() => {
    if (news === told.current) return;
    told.current = news;
    onNews();
  }, [news, onNews]);
  return news;
}

/** True from the first time on that it is given true. */
function useOnce(is: boolean): boolean {
  const [was, setWas] = useState(is);
  if (is && !was) setWas(true);
  return is || was;
}

/** True for a while, as long as there is something to wait for. */
function usePatience(isWaiting: boolean): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setTimeout(() => setOver(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [isWaiting]);
  return isWaiting && !isOver;
}

/** Writes the state to the address once it rests, and takes over what the browser's back button, or a link, says. */
function useAddress(
  state: ReturnType<typeof opened>,
  query: URLSearchParams,
  setQuery: ReturnType<typeof useSearchParams>[1],
  dispatch: (action: Parameters<typeof pageReducer>[1]) => void,
): void {
  const written = useRef(query.toString());
  const shown = query.toString();
  const wanted = address(state, query).toString();
  useEffect(() => {
    if (shown === written.current) return;
    written.current = shown;
    dispatch({ type: "address", query: new URLSearchParams(shown) });
  }, [shown, dispatch]);
  useEffect(() => {
    if (wanted === shown) return;
    const timer = setTimeout(() => {
      if (shown !== written.current) return; // the address has changed since, and is taken over first
      written.current = wanted;
      setQuery(new URLSearchParams(wanted), { replace: state.following });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [wanted, shown, setQuery, state.following]);
}

function useTitle(name: string | null): void {
  useEffect(() => {
    document.title = `${saidPlainly(name ?? "run")} · Playhead`;
    return () => {
      document.title = "Playhead";
    };
  }, [name]);
}
