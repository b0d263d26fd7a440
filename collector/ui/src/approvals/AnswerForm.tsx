// The form that answers what a run waits for, on the page of approvals and in the verdict of the run.
import { type FormEvent, type MouseEvent, useId, useRef, useState } from "react";

import { ApiError, get, post } from "../api/client";
import { useMay } from "../api/session";
import type { WaitedFor } from "../api/types";
import { localTime } from "../model/format";
import { Said } from "../parts/Said";
import { isForPage } from "../parts/typing";
import { useKeyPress } from "../parts/useKeyPress";
import { choicesOf, readAnswer } from "./answer";
import styles from "./Approvals.module.css";
import { useAnswerName } from "./name";
import { refreshWaiting } from "./waiting";

type Given = { outcome: "approved" | "denied" | "answered"; value?: unknown; reason: string | null };
const NO_NAME = "Write your name first: the run's record says who answered.";

type Props = {
  asked: WaitedFor;
  /** Called with the promise and its answer, also when somebody else was quicker. */
  onAnswer: (now: WaitedFor) => void;
  /** Whether `a` and `d` go to Approve and Deny: for one form on a page. */
  hasKeys?: boolean;
};

/** The form, or the answer that was given. Nobody can answer without a name. */
export function AnswerForm({ asked, onAnswer, hasKeys = false }: Props) {
  const mayAnswer = useMay("admin");
  const [tooLate, setTooLate] = useState<string | null>(null);
  if (asked.answer !== null)
    return (
      <>
        <Problem text={tooLate} />
        <Answered answer={asked.answer} />
      </>
    );
  if (!mayAnswer)
    return (
      <p className="sub">
        Your key may read, but not answer: that needs a key with the scope <code>admin</code>.
      </p>
    );
  return <OpenForm asked={asked} onAnswer={onAnswer} onTooLate={setTooLate} hasKeys={hasKeys} />;
}

/** `onTooLate` is called with what to say when somebody else was quicker; it stays beside their answer. */
type OpenFormProps = Required<Props> & { onTooLate: (problem: string) => void };

function OpenForm({ asked, onAnswer, onTooLate, hasKeys }: OpenFormProps) {
  const [by, setBy] = useAnswerName();
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const name = useRef<HTMLInputElement>(null);
  const ids = { by: useId(), reason: useId(), problem: useId() };
  const send = async (given: Given) => {
    if (by.trim() === "") {
      setProblem(NO_NAME);
      name.current?.focus();
      return;
    }
    setProblem(null);
    setSending(true);
    try {
      onAnswer(await post<WaitedFor>(`/promises/${asked.id}`, { ...given, by: by.trim() }));
    } catch (error) {
      const refused = error as ApiError;
      setProblem(refused.message);
      // Somebody was quicker: their answer is the one that counts.
      if (refused.status === 409) {
        onTooLate(refused.message);
        onAnswer(await get<WaitedFor>(`/promises/${asked.id}`));
      }
    } finally {
      setSending(false);
      void refreshWaiting();
    }
  };
  return (
    <form className={styles.form} onSubmit={(event) => event.preventDefault()}>
      <label htmlFor={ids.by}>Your name</label>
      <input
        ref={name}
        id={ids.by}
        className="input"
        autoComplete="name"
        placeholder="required"
        aria-required="true"
        aria-invalid={problem === NO_NAME}
        aria-describedby={problem === null ? undefined : ids.problem}
        maxLength={200}
        value={by}
        onChange={(event) => {
          setBy(event.target.value);
          setProblem(null);
        }}
      />
      {asked.kind === "approval" ? (
        <>
          <label htmlFor={ids.reason}>
            Reason <span className="ink-faint">if you deny; the agent reads it</span>
          </label>
          <input
            id={ids.reason}
            className="input"
            maxLength={10_000}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
          <Decision
            isSending={isSending}
            hasKeys={hasKeys}
            onDecide={(outcome) => void send({ outcome, reason: reason.trim() || null })}
          />
        </>
      ) : (
        <Reply
          schema={asked.schema}
          isSending={isSending}
          onReply={(value) => void send({ outcome: "answered", value, reason: null })}
        />
      )}
      <Problem id={ids.problem} text={problem} />
      <p className="sub">The process waits, and goes on at once. Whoever answers first decides.</p>
    </form>
  );
}

type DecisionProps = { isSending: boolean; hasKeys: boolean; onDecide: (outcome: "approved" | "denied") => void };

/** `a` and `d` go to the buttons; Enter presses them. */
function Decision({ isSending, hasKeys, onDecide }: DecisionProps) {
  const approve = useRef<HTMLButtonElement>(null);
  const deny = useRef<HTMLButtonElement>(null);
  useKeyPress((event) => {
    if (!hasKeys || !isForPage(event)) return;
    if (event.key === "a") approve.current?.focus();
    if (event.key === "d") deny.current?.focus();
  });
  return (
    <div className={styles.buttons}>
      <button
        ref={approve}
        type="button"
        className="button primary"
        disabled={isSending}
        onClick={() => onDecide("approved")}
      >
        Approve {hasKeys && <kbd aria-hidden="true">a</kbd>}
      </button>
      <button ref={deny} type="button" className="button no" disabled={isSending} onClick={() => onDecide("denied")}>
        Deny {hasKeys && <kbd aria-hidden="true">d</kbd>}
      </button>
    </div>
  );
}

/** A schema up to this length takes one line. */
const SHORT = 100;

type ReplyProps = { schema: unknown; isSending: boolean; onReply: (value: unknown) => void };

function Reply({ schema, isSending, onReply }: ReplyProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  const field = useId();
  const choices = choicesOf(schema);
  const submit = (event: FormEvent | MouseEvent) => {
    event.preventDefault();
    if (typed.trim() === "") return setProblem("Write an answer first.");
    const read = readAnswer(typed, schema);
    if ("problem" in read) return setProblem(read.problem);
    setProblem(null);
    onReply(read.value);
  };
  return (
    <>
      {schema !== null && <Schema schema={schema} />}
      {choices.length > 0 ? (
        <div className={styles.buttons}>
          {choices.map((value) => (
            <button
              key={String(value)}
              type="button"
              className="button main"
              disabled={isSending}
              onClick={() => onReply(value)}
            >
              {String(value)}
            </button>
          ))}
        </div>
      ) : (
        <>
          <label htmlFor={field}>Answer</label>
          <textarea
            id={field}
            className="input"
            rows={2}
            placeholder="a text, or JSON"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <div className={styles.buttons}>
            <button type="submit" className="button primary" disabled={isSending} onClick={submit}>
              Answer
            </button>
          </div>
        </>
      )}
      <Problem text={problem} />
    </>
  );
}

/** What kind of value is expected: a short schema in one line, a long one as it is laid out. */
function Schema({ schema }: { schema: unknown }) {
  const line = JSON.stringify(schema);
  if (line.length <= SHORT)
    return (
      <p className="sub">
        expected: <code>{line}</code>
      </p>
    );
  return (
    <details>
      <summary>what is expected</summary>
      <pre>
        <Said>{JSON.stringify(schema, null, 2)}</Said>
      </pre>
    </details>
  );
}

function Problem({ text, id }: { text: string | null; id?: string }) {
  if (text === null) return null;
  return (
    <p id={id} className="failed" role="alert">
      {text}
    </p>
  );
}

/** Who answered, when, and with what. */
export function Answered({ answer }: { answer: NonNullable<WaitedFor["answer"]> }) {
  const ink = answer.outcome === "approved" || answer.outcome === "answered" ? "ink-good" : "ink-bad";
  return (
    <p role="status" className={styles.answered}>
      <b className={ink}>{answer.outcome === "expired" ? "nobody waits any more" : answer.outcome}</b>
      {answer.by !== null && (
        <>
          {" "}
          by <Said>{answer.by}</Said>
        </>
      )}{" "}
      <span title={`${answer.time} (UTC)`}>at {localTime(answer.time)}</span>
      {answer.reason !== null && (
        <>
          : <Said>{answer.reason}</Said>
        </>
      )}
      {answer.outcome === "answered" && (
        <>
          {" "}
          with{" "}
          <code>
            <Said>{JSON.stringify(answer.value)}</Said>
          </code>
        </>
      )}
    </p>
  );
}
