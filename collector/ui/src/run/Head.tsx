import { useRef } from "react";
import { Link } from "wouter";

import { apiUrl } from "../api/client";
import type { RecordedEvent, RunDetail } from "../api/types";
import { count, duration, localTime, money, percent, shortId } from "../model/format";
import { Copy } from "../parts/Copy";
import { peakTitle, Status } from "../runs/RunsTable";
import { CopyAsTest } from "./CopyAsTest";

/** Forks that the header names; the list of runs has all of them. */
const FORKS = 3;

/** Name, figures, what it was forked from, and what can be done from here. */
export function Head({
  run,
  at,
  event,
  onError,
}: {
  run: RunDetail;
  at: number;
  event: RecordedEvent | undefined;
  onError: (() => void) | null;
}) {
  const sheet = useRef<HTMLDialogElement>(null);
  const command = forkCommand(run.run, at, event);
  return (
    <div className="head">
      <div className="who">
        <h1>
          {run.name ?? "unnamed"} <Copy className="icon" text={run.run} label={shortId(run.run)} />
        </h1>
        <div className="sub">
          <Status status={run.status} />
          {run.last_record !== null && <> (no record since {localTime(run.last_record)})</>} ·{" "}
          <span title={`${run.started} (UTC)`}>{localTime(run.started)}</span>
          {run.fork_of !== null && (
            <>
              {" "}
              · fork of{" "}
              <Link className="go" href={`/runs/${run.fork_of}?at=${run.fork_at ?? 1}`}>
                {shortId(run.fork_of)} at {run.fork_at}
              </Link>
              ,{" "}
              <Link className="link" href={`/compare/${run.fork_of}/${run.run}`}>
                compare
              </Link>
            </>
          )}
          {run.forks.length > 0 && (
            <>
              {" "}
              · {count(run.fork_count)} {run.fork_count === 1 ? "fork" : "forks"}:{" "}
              {run.forks.slice(0, FORKS).map((fork) => (
                <Link key={fork.run} className="link fork" href={`/compare/${run.run}/${fork.run}`}>
                  compare with {shortId(fork.run)}
                </Link>
              ))}
            </>
          )}
          {run.continues !== null && (
            <>
              {" "}
              · continues{" "}
              <Link className="go" href={`/runs/${run.continues}`}>
                {shortId(run.continues)}
              </Link>
            </>
          )}
          {run.continued_by.length > 0 && (
            <>
              {" "}
              · continued by{" "}
              {run.continued_by.slice(0, FORKS).map((next) => (
                <Link key={next} className="go fork" href={`/runs/${next}`}>
                  {shortId(next)}
                </Link>
              ))}
            </>
          )}
          {run.process_count > 0 && (
            <>
              {" "}
              · {count(run.process_count)} other {run.process_count === 1 ? "process" : "processes"}
            </>
          )}
          {run.linked.length > 0 && (
            <>
              {" "}
              · linked to{" "}
              {run.linked.slice(0, FORKS).map((other) => (
                <Link key={other} className="go fork" href={`/runs/${other}`}>
                  {shortId(other)}
                </Link>
              ))}
            </>
          )}
          {[run.session, run.user].filter(Boolean).map((part) => ` · ${part}`)}
        </div>
      </div>
      <Fact name="duration" value={duration(run.elapsed_ms)} />
      <Fact name="model / tool calls" value={`${count(run.llm_calls)} / ${count(run.tool_calls)}`} />
      <Fact name="tokens in → out" value={`${count(run.input_tokens)} → ${count(run.output_tokens)}`} />
      <Fact name="cost" value={money(run.cost)} optional />
      <Fact
        name="context peak"
        value={run.context_peak === null ? "–" : count(run.context_peak)}
        more={
          run.context_peak === null || run.context_limit === null ? "" : percent(run.context_peak / run.context_limit)
        }
        title={peakTitle(run)}
        optional
      />
      {onError === null ? (
        <Fact name={run.errors === 1 ? "error" : "errors"} value={count(run.errors)} isBad={run.errors > 0} />
      ) : (
        <button type="button" className="fact" onClick={onError} title="Go to the first error">
          <b className="ink-bad">{count(run.errors)}</b>
          <span>{run.errors === 1 ? "error" : "errors"}</span>
        </button>
      )}
      <div className="acts">
        <a className="button" href={apiUrl(`/runs/${run.run}`)}>
          JSON
        </a>
        <a
          className="button"
          href={apiUrl(`/runs/${run.run}/bundle`)}
          download
          title="Everything that was recorded of this run, in one file that `playhead import` reads"
        >
          Bundle
        </a>
        <CopyAsTest run={run.run} />
        <button className="button main" type="button" onClick={() => sheet.current?.showModal()}>
          Fork from here
        </button>
      </div>
      <dialog ref={sheet} aria-label="Fork from here">
        <h1>Fork from event {at}</h1>
        <p className="sub">
          Runs your program again with the recorded results up to here, and from here on with another outcome. Replace
          the outcome and <code>python agent.py</code>.
        </p>
        <pre>{command}</pre>
        <p>
          <Copy text={command} label="Copy" />{" "}
          <button className="button" type="button" onClick={() => sheet.current?.close()}>
            Close
          </button>
        </p>
      </dialog>
    </div>
  );
}

/** The command to paste, with an outcome of the form that this event has. */
export function forkCommand(
  run: string,
  at: number,
  event: Pick<RecordedEvent, "kind" | "previews"> | undefined,
): string {
  const outcome =
    event === undefined
      ? '{"result": "..."}'
      : event.kind.startsWith("llm_")
        ? '{"message": "..."}'
        : event.kind === "tool_failed"
          ? '{"result": "..."}'
          : event.kind.startsWith("tool_")
            ? `{"result": ${jsonOrText(event.previews?.result)}}`
            : '{"result": "..."}';
  return `playhead fork ${run} --at ${at} --outcome '${outcome.replaceAll("'", "'\\''")}' -- python agent.py`;
}

function jsonOrText(preview: string | undefined): string {
  if (preview === undefined) return '"..."';
  try {
    return JSON.stringify(JSON.parse(preview));
  } catch {
    return JSON.stringify(preview);
  }
}

type FactProps = { name: string; value: string; more?: string; title?: string; isBad?: boolean; optional?: boolean };

function Fact({ name, value, more = "", title, isBad = false, optional = false }: FactProps) {
  return (
    <div className={optional ? "fact optional" : "fact"} title={title}>
      <b className={isBad ? "ink-bad" : ""}>
        {value}
        {more !== "" && <span className="sub"> {more}</span>}
      </b>
      <span>{name}</span>
    </div>
  );
}
