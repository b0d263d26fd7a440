import { type FormEvent, useState } from "react";
import { Link } from "wouter";

import { ApiError, get, post } from "../api/client";
import type { RunDetail, WaitedFor } from "../api/types";
import { useApi } from "../api/useApi";
import { ago, duration, localTime, shortId } from "../model/format";
import { Copy } from "../parts/Copy";
import { choicesOf, readAnswer } from "./answer";
import { refreshWaiting } from "./waiting";

const KINDS: Record<string, string> = { approval: "approval", input: "question", event: "event" };
/** Details beyond this are shown after a click. */
const LONG = 1500;
/** A schema up to this length takes one line. */
const SHORT = 100;

type Props = { asked: WaitedFor; by: string; mayAnswer: boolean; onAnswer: (now: WaitedFor) => void };
type Given = { outcome: "approved" | "denied" | "answered"; value?: unknown; reason: string | null };

/** One request: what is asked by which run, since when, how risky it is, and the form that answers it. */
export function Request({ asked, by, mayAnswer, onAnswer }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const title = asked.action ?? asked.name ?? asked.key;
  const send = async (given: Given) => {
    setProblem(null);
    setSending(true);
    try {
      onAnswer(await post<WaitedFor>(`/promises/${asked.id}`, { ...given, by: by.trim() || null }));
    } catch (error) {
      const refused = error as ApiError;
      setProblem(refused.message);
      // Somebody was quicker: their answer is the one that counts.
      if (refused.status === 409) onAnswer(await get<WaitedFor>(`/promises/${asked.id}`));
    } finally {
      setSending(false);
      void refreshWaiting();
    }
  };
  return (
    <article className={`card request ${asked.answer === null ? "" : "done"}`} aria-label={title}>
      <div className="what">
        <span className="tag kind">{KINDS[asked.kind] ?? asked.kind}</span>
        <h2>{title}</h2>
        {asked.risk !== null && (
          <span className={`tag ${asked.risk === "high" ? "bad" : "risk"}`}>risk: {asked.risk}</span>
        )}
      </div>
      <dl>
        <dt>who</dt>
        <dd>
          <Asker run={asked.run} />
        </dd>
        <dt>when</dt>
        <dd>
          <When asked={asked} />
        </dd>
        {asked.name !== null && asked.name !== title && (
          <>
            <dt>{asked.kind === "event" ? "event" : "tool"}</dt>
            <dd>
              <code>{asked.name}</code>
            </dd>
          </>
        )}
        {asked.kind === "event" && (
          <>
            <dt>key</dt>
            <dd>
              <code>{asked.key}</code>
            </dd>
          </>
        )}
        <dt>digest</dt>
        <dd>
          <code title="Stands for exactly this request: an answer holds for nothing else.">
            {asked.id.slice(0, 12)}
          </code>{" "}
          <Copy className="icon" text={asked.id} label="Copy" />
        </dd>
      </dl>
      {asked.details !== null && <Details value={asked.details} />}
      {problem !== null && (
        <p className="failed" role="alert">
          {problem}
        </p>
      )}
      {asked.answer !== null ? (
        <Answered answer={asked.answer} />
      ) : (
        mayAnswer &&
        (asked.kind === "approval" ? (
          <Decision isSending={isSending} onSend={send} />
        ) : (
          <Reply schema={asked.schema} isSending={isSending} onSend={send} />
        ))
      )}
    </article>
  );
}

/** The run that asks, as a link; a promise with a key of the program's own belongs to none. */
function Asker({ run }: { run: string | null }) {
  const { data } = useApi<RunDetail>(run === null ? null : `/runs/${run}`, {}, true);
  if (run === null) return <>any run, by its key</>;
  return (
    <>
      <Link className="go" href={`/runs/${run}`}>
        {data?.name ?? "run"} {shortId(run)}
      </Link>
      {data?.user != null && <span className="sub"> · user {data.user}</span>}
    </>
  );
}

function When({ asked }: { asked: WaitedFor }) {
  // eslint-disable-next-line react-hooks/purity -- the page is drawn again with each answer, and then counts anew
  const now = Date.now();
  const left = asked.deadline === null ? null : Date.parse(asked.deadline) - now;
  return (
    <span title={`${asked.created} (UTC)`}>
      {localTime(asked.created)}, {ago(asked.created, now)}
      {left !== null && (
        <span className={left < 60_000 ? "ink-bad" : ""}>
          ; {left <= 0 ? "its deadline has passed" : `waits for another ${duration(left)}`}
        </span>
      )}
    </span>
  );
}

function Details({ value }: { value: unknown }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  if (text.length <= LONG) return <pre aria-label="Details">{text}</pre>;
  return (
    <details>
      <summary>
        {text.slice(0, 120)} … <span className="sub">show all {text.length} characters</span>
      </summary>
      <pre aria-label="Details">{text}</pre>
    </details>
  );
}

function Answered({ answer }: { answer: NonNullable<WaitedFor["answer"]> }) {
  const ink = answer.outcome === "approved" || answer.outcome === "answered" ? "ink-good" : "ink-bad";
  return (
    <p role="status">
      <b className={ink}>{answer.outcome === "expired" ? "nobody waits any more" : answer.outcome}</b>
      {answer.by !== null && <> by {answer.by}</>}{" "}
      <span title={`${answer.time} (UTC)`}>at {localTime(answer.time)}</span>
      {answer.reason !== null && <>: {answer.reason}</>}
      {answer.outcome === "answered" && (
        <>
          {" "}
          with <code>{JSON.stringify(answer.value)}</code>
        </>
      )}
    </p>
  );
}

type FormProps = { isSending: boolean; onSend: (given: Given) => Promise<void> };

function Decision({ isSending, onSend }: FormProps) {
  const [reason, setReason] = useState("");
  const decide = (outcome: "approved" | "denied") => void onSend({ outcome, reason: reason.trim() || null });
  return (
    <div className="reply">
      <input
        className="input"
        aria-label="Reason"
        placeholder="Reason, which the program is told"
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <button type="button" className="button good" disabled={isSending} onClick={() => decide("approved")}>
        Approve
      </button>
      <button type="button" className="button bad" disabled={isSending} onClick={() => decide("denied")}>
        Deny
      </button>
    </div>
  );
}

function Reply({ schema, isSending, onSend }: FormProps & { schema: unknown }) {
  const [problem, setProblem] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  const choices = choicesOf(schema);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readAnswer(typed, schema);
    if ("problem" in read) return setProblem(read.problem);
    setProblem(null);
    void onSend({ outcome: "answered", value: read.value, reason: null });
  };
  return (
    <form className="reply" onSubmit={submit}>
      {schema !== null && <Schema schema={schema} />}
      {choices.length > 0 ? (
        choices.map((value) => (
          <button
            key={String(value)}
            type="button"
            className="button"
            disabled={isSending}
            onClick={() => void onSend({ outcome: "answered", value, reason: null })}
          >
            {String(value)}
          </button>
        ))
      ) : (
        <>
          <textarea
            className="input"
            aria-label="Answer"
            rows={2}
            required
            placeholder="The answer: a text, or JSON"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <button type="submit" className="button good" disabled={isSending}>
            Answer
          </button>
        </>
      )}
      {problem !== null && (
        <span className="failed" role="alert">
          {problem}
        </span>
      )}
    </form>
  );
}

/** What kind of value is expected: a short schema in one line, a long one as it is laid out. */
function Schema({ schema }: { schema: unknown }) {
  const line = JSON.stringify(schema);
  if (line.length <= SHORT)
    return (
      <span className="schema sub">
        expected: <code>{line}</code>
      </span>
    );
  return (
    <details className="schema" open={line.length < LONG}>
      <summary>what is expected</summary>
      <pre>{JSON.stringify(schema, null, 2)}</pre>
    </details>
  );
}
