// The line at the top of a run: its name, what came of it, its figures, and what can be done with it.
import { useState } from "react";
import { Link } from "wouter";

import type { RunDetail, RunVerdict, TurnRow } from "../api/types";
import { count, localTime, money, shortId } from "../model/format";
import { Copy } from "../parts/Copy";
import { KeptLine } from "../parts/Kept";
import { Said } from "../parts/Said";
import { saidPlainly } from "../parts/said";
import { Elapsed } from "./live/Elapsed";
import { OutcomeTags } from "./OutcomeTags";
import styles from "./Head.module.css";
import { useOnPage } from "./OnPage";
import type { PageAction, PageState, View } from "./page";
import { Acts } from "./acts/Acts";
import { errorsIn } from "./turns/rows";

type Props = {
  run: RunDetail;
  verdict: RunVerdict | null;
  state: PageState;
  dispatch: (action: PageAction) => void;
  at: number;
  turn: TurnRow | undefined;
};

export function Head({ run, verdict, state, dispatch, at, turn }: Props) {
  return (
    <section className={styles.head} aria-label="The run">
      <div className={styles.who}>
        <h1 title={saidPlainly(run.name ?? "")}>
          <Said>{run.name ?? "unnamed"}</Said>
        </h1>{" "}
        <Copy className={`button quiet ${styles.id}`} text={run.run} label={shortId(run.run)} />{" "}
        <OutcomeTags run={run} verdict={verdict} />
        <KeptLine run={run} />
        {run.last_record !== null && <span className="sub">no record since {localTime(run.last_record)}</span>}
      </div>
      <Figures run={run} />
      <div className={styles.acts}>
        <ViewSwitch view={state.view} onView={(view) => dispatch({ type: "view", view })} />
        <Acts run={run} verdict={verdict} at={at} turn={turn} />
      </div>
    </section>
  );
}

/** Figures that lead to the first of their kind, where there is one. */
function Figures({ run }: { run: RunDetail }) {
  const { rows, turns, go } = useOnPage();
  const firstCall = rows.find((row) => row.calls.length > 0);
  const firstError = errorsIn(rows)[0];
  const peak = run.context_peak;
  return (
    <div className={styles.figures}>
      <span title={`${run.started} (UTC)`}>
        <b>
          <Elapsed run={run} />
        </b>
      </span>
      {run.agents.length > 1 && (
        <span>
          <b>{count(run.agents.length)}</b> agents
        </span>
      )}
      <Figure value={run.llm_calls} name={run.llm_calls === 1 ? "turn" : "turns"} first={turns[0]?.seq} onGo={go} />
      <Figure
        value={run.tool_calls}
        name={run.tool_calls === 1 ? "tool call" : "tool calls"}
        first={firstCall?.seq}
        onGo={go}
      />
      {run.errors > 0 && (
        <Figure value={run.errors} name={run.errors === 1 ? "error" : "errors"} first={firstError} onGo={go} isBad />
      )}
      <span>
        <b>
          {count(run.input_tokens)} → {count(run.output_tokens)}
        </b>{" "}
        tokens
      </span>
      {run.cost !== null && (
        <span>
          <b>{money(run.cost)}</b>
        </span>
      )}
      {peak !== null && (
        <span>
          peak <b>{count(peak)}</b>
          {run.context_limit !== null && <> of {count(Math.round(run.context_limit / 1000))}k</>}
        </span>
      )}
      <Kin run={run} />
    </div>
  );
}

type FigureProps = {
  value: number;
  name: string;
  first: number | undefined;
  onGo: (seq: number) => void;
  isBad?: boolean;
};

function Figure({ value, name, first, onGo, isBad = false }: FigureProps) {
  const text = (
    <>
      <b className={isBad ? "ink-bad" : undefined}>{count(value)}</b> {name}
    </>
  );
  if (first === undefined || value === 0) return <span>{text}</span>;
  return (
    <button type="button" className={styles.figure} title={`Go to the first of ${name}`} onClick={() => onGo(first)}>
      {text}
    </button>
  );
}

/** Other runs that this one comes from or leads to, its session, user and tags. */
function Kin({ run }: { run: RunDetail }) {
  const others: [string, string][] = [
    ...(run.continues === null ? [] : ([["continues", run.continues]] satisfies [string, string][])),
    ...run.continued_by.slice(0, SHOWN).map((next): [string, string] => ["continued by", next]),
    ...run.linked.slice(0, SHOWN).map((other): [string, string] => ["linked to", other]),
  ];
  const tags = [run.session, run.user, ...run.tags].filter((tag): tag is string => tag !== null && tag !== "");
  return (
    <>
      {run.fork_of !== null && (
        <span>
          fork of{" "}
          <Link className="go" href={`/runs/${run.fork_of}?at=${run.fork_at ?? 1}`}>
            {shortId(run.fork_of)}
          </Link>
          ,{" "}
          <Link className="go" href={`/compare/${run.fork_of}/${run.run}`}>
            compare
          </Link>
        </span>
      )}
      {run.fork_count > 0 && (
        <span>
          <b>{count(run.fork_count)}</b> {run.fork_count === 1 ? "fork" : "forks"}:{" "}
          {run.forks.slice(0, SHOWN).map((fork, n) => (
            <span key={fork.run}>
              {n > 0 && ", "}
              <Link className="go" href={`/compare/${run.run}/${fork.run}`}>
                compare with {shortId(fork.run)}
              </Link>
            </span>
          ))}
        </span>
      )}
      {others.map(([how, other]) => (
        <span key={`${how} ${other}`}>
          {how}{" "}
          <Link className="go" href={`/runs/${other}`}>
            {shortId(other)}
          </Link>
        </span>
      ))}
      {run.process_count > 0 && (
        <span>
          <b>{count(run.process_count)}</b> other {run.process_count === 1 ? "process" : "processes"}
        </span>
      )}
      {tags.length > 0 && <Tags tags={tags} />}
    </>
  );
}

/** Session, user and tags: of many the first ones, and the others on request. */
function Tags({ tags }: { tags: readonly string[] }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? tags : tags.slice(0, TAGS);
  return (
    <span className={styles.tags}>
      {shown.map((tag, n) => (
        <span key={n} className={isWhole ? undefined : styles.tag} title={saidPlainly(tag)}>
          {n > 0 && " · "}
          <Said>{tag}</Said>
        </span>
      ))}
      {shown.length < tags.length && (
        <>
          {" · "}
          <button type="button" className="go" onClick={() => setWhole(true)}>
            {count(tags.length - shown.length)} more
          </button>
        </>
      )}
    </span>
  );
}

/** Other runs that are named; the list of runs has all of them. */
const SHOWN = 3;
/** Tags that are shown at first. */
const TAGS = 8;

const VIEW_NAMES: Readonly<Record<View, string>> = { turns: "Turns", conversation: "Conversation" };

function ViewSwitch({ view, onView }: { view: View; onView: (view: View) => void }) {
  return (
    <span className={styles.views} role="group" aria-label="Show as">
      {(Object.keys(VIEW_NAMES) as View[]).map((each) => (
        <button key={each} type="button" aria-pressed={each === view} onClick={() => onView(each)}>
          {VIEW_NAMES[each]}
        </button>
      ))}
    </span>
  );
}
