// Edit and ask again: what is asked, beside the recorded answer, and what came back, how often.
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";

import { type ApiError, post } from "../../api/client";
import { useMay } from "../../api/session";
import type { AskedAgain, ContextAt, RunDetail, RunTurn } from "../../api/types";
import { useApi } from "../../api/useApi";
import { count, duration, money, shortId } from "../../model/format";
import { Markdown } from "../../parts/Markdown";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { CopyTest } from "../acts/CopyTest";
import { Command } from "../acts/Command";
import { forkWithAnswer } from "../acts/commands";
import { Dialog } from "../../parts/Dialog";
import { runPath } from "../OnPage";
import styles from "./AskPage.module.css";
import { brief, changedMessages, type ChatMessage, editable } from "./edits";
import { tallyOf, tallyText, toolLine } from "./tally";
import { inkOf } from "../../model/context";

const MOST_TIMES = 20;
/** Questions that are open at once. */
const AT_ONCE = 3;

export function AskPage({ run: name, turn: number }: { run: string; turn: number }) {
  const run = useApi<RunDetail>(runPath(name));
  const turn = useApi<RunTurn>(`${runPath(name)}/turns/${number}`);
  const context = useApi<ContextAt>(turn.data === null ? null : `${runPath(name)}/context`, {
    at: turn.data?.seq,
    form: "openai",
  });
  const error = run.error ?? turn.error ?? context.error;
  if (error !== null)
    return (
      <main>
        <Failed error={error} isPage what="the turn" />
      </main>
    );
  if (run.data === null || turn.data === null || context.data === null)
    return (
      <main>
        <Loading what="the turn" />
      </main>
    );
  return <Ask key={turn.data.seq} run={run.data} turn={turn.data} context={context.data} />;
}

type AskProps = { run: RunDetail; turn: RunTurn; context: ContextAt };
type Outcome = { answer: AskedAgain } | { error: ApiError };

/** What is sent, for each of the questions. */
type Body = {
  at: number;
  model?: string;
  system?: string;
  messages?: ChatMessage[];
  settings?: Record<string, unknown>;
};

function Ask({ run, turn, context }: AskProps) {
  const messages = context.messages as ChatMessage[];
  const [texts, setTexts] = useState<ReadonlyMap<number, string>>(new Map());
  const [system, setSystem] = useState<string | null>(null);
  const [model, setModel] = useState("");
  const [temperature, setTemperature] = useState("");
  const [times, setTimes] = useState(3);
  const [problem, setProblem] = useState<string | null>(null);
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const [open, setOpen] = useState(0);
  const [shown, setShown] = useState<"test" | "fork" | null>(null);
  const may = useMay("admin");
  const isOver = useRef(false);
  useEffect(() => {
    isOver.current = false;
    return () => {
      isOver.current = true;
    };
  }, []);
  const recordedSystem = systemText(context.system);
  const edits = changedMessages(messages, texts);
  const changes =
    ("messages" in edits && edits.messages !== null ? countChanged(messages, texts) : 0) +
    (system !== null && system !== recordedSystem ? 1 : 0);
  const ask = () => {
    if ("problem" in edits) return setProblem(edits.problem);
    const body: Body = { at: turn.seq };
    if (model.trim() !== "") body.model = model.trim();
    if (system !== null && system !== recordedSystem) body.system = system;
    if (edits.messages !== null) body.messages = edits.messages;
    if (temperature.trim() !== "") {
      const value = Number(temperature);
      if (!Number.isFinite(value)) return setProblem("The temperature is a number, such as 0.7.");
      body.settings = { temperature: value };
    }
    setProblem(null);
    void askOften(`${runPath(run.run)}/ask-again`, body, times, (outcome) => {
      if (isOver.current) return false;
      setOutcomes((before) => [...before, outcome]);
      setOpen((before) => before - 1);
      return !("error" in outcome);
    }).finally(() => setOpen(0));
    setOpen(times);
  };
  const answers = outcomes.flatMap((each) => ("answer" in each ? [each.answer] : []));
  const first = answers[0];
  return (
    <main
      className={styles.page}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) ask();
      }}
    >
      <section className={styles.head} aria-label="Ask again">
        <h1>Ask turn {turn.number} again</h1>
        <span className="ink-soft">
          <Link className="go" href={`/runs/${run.run}?at=${turn.seq}`}>
            <Said>{run.name ?? "run"}</Said> {shortId(run.run)}
          </Link>
          ,{" "}
          <code>
            <Said>{turn.model ?? "model"}</Said>
          </code>{" "}
          → <Said>{turn.calls.length > 0 ? turn.calls.map((call) => call.name).join(", ") : "its answer"}</Said>
        </span>
        <span className={styles.acts}>
          <button type="button" className="button" onClick={() => setShown("test")}>
            Make it a test
          </button>
          {first !== undefined && (
            <button type="button" className="button main" onClick={() => setShown("fork")}>
              Fork from here with answer 1
            </button>
          )}
        </span>
      </section>
      <div className={styles.columns}>
        <section aria-label="What is asked">
          <h2>
            What is asked{" "}
            {changes > 0 && (
              <span className="tag state">
                {changes} of {messages.length + (recordedSystem === null ? 0 : 1)} messages changed
              </span>
            )}
          </h2>
          {recordedSystem !== null && (
            <OneMessage
              message={{ role: "system", content: recordedSystem }}
              text={system}
              onText={(text) => setSystem(text)}
            />
          )}
          {messages.map((message, n) => (
            <OneMessage
              key={n}
              message={message}
              text={texts.get(n) ?? null}
              onText={(text) => setTexts((before) => new Map(before).set(n, text))}
            />
          ))}
          <div className={styles.form}>
            <label htmlFor="ask-model">model</label>
            <input
              id="ask-model"
              className="input"
              placeholder="the collector’s default"
              list="ask-models"
              value={model}
              onChange={(event) => setModel(event.target.value)}
            />
            <datalist id="ask-models">
              {run.models.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
            <label htmlFor="ask-times">times</label>
            <input
              id="ask-times"
              className="input num"
              type="number"
              min={1}
              max={MOST_TIMES}
              value={times}
              onChange={(event) => setTimes(Math.max(1, Math.min(MOST_TIMES, Number(event.target.value) || 1)))}
            />
            <label htmlFor="ask-temperature">temperature</label>
            <input
              id="ask-temperature"
              className="input num"
              inputMode="decimal"
              placeholder="as recorded"
              value={temperature}
              onChange={(event) => setTemperature(event.target.value)}
            />
          </div>
          <div className={styles.send}>
            <button type="button" className="button primary" disabled={open > 0 || !may} onClick={ask}>
              {times === 1 ? "Ask once" : `Ask ${times} times`} <kbd aria-hidden="true">⌘↵</kbd>
            </button>
            <span className="sub">
              {turn.cost !== null && `about ${money(turn.cost * times)} at the recorded price, `}nothing of the run
              changes
            </span>
          </div>
          {!may && (
            <p className="sub">
              Asking costs the operator money: it needs a key with the scope <code>admin</code>.
            </p>
          )}
          {problem !== null && (
            <p className="ink-bad" role="alert">
              {problem}
            </p>
          )}
        </section>
        <section aria-label="Recorded">
          <h2>Recorded</h2>
          <p className="sub">
            {duration(turn.model_ms)}
            {turn.usage.input_tokens !== undefined &&
              ` · ${count(turn.usage.input_tokens)} → ${count(turn.usage.output_tokens ?? 0)} tokens`}
            {turn.cost !== null && ` · ${money(turn.cost)}`}
          </p>
          <RecordedAnswer turn={turn} recorded={first?.recorded ?? null} />
        </section>
        <section aria-label="Asked again">
          <h2>
            Asked again{" "}
            <span className="sub" role="status">
              {answers.length === 1 ? "1 answer" : `${answers.length} answers`}
              {open > 0 && `, ${open} under way`}
            </span>
          </h2>
          {answers.length > 0 && <Tally answers={answers} />}
          {outcomes.map((outcome, n) =>
            "error" in outcome ? (
              <Failed key={n} error={outcome.error} what={`answer ${n + 1}`} />
            ) : (
              <OneAnswer key={n} number={n + 1} asked={outcome.answer} isOpen={n < 3} />
            ),
          )}
          {outcomes.length === 0 && open === 0 && (
            <p className="sub">Change what is asked, or ask the same again: models answer differently each time.</p>
          )}
        </section>
      </div>
      {shown === "test" && <CopyTest run={run.run} onClose={() => setShown(null)} />}
      {shown === "fork" && first !== undefined && (
        <Dialog title="Fork with this answer" onClose={() => setShown(null)}>
          <p className="sub">
            Runs your program again with the recorded results up to here, and goes on with this answer. Replace{" "}
            <code>python agent.py</code>.
          </p>
          <Command text={forkWithAnswer(run.run, turn.ended_seq ?? turn.seq, first.answer.text ?? "...")} />
        </Dialog>
      )}
    </main>
  );
}

/** Asks so often, a few at a time; `done` says whether to go on. */
async function askOften(path: string, body: Body, times: number, done: (outcome: Outcome) => boolean): Promise<void> {
  let left = times;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const outcome = await post<AskedAgain>(path, body).then(
        (answer): Outcome => ({ answer }),
        (error: ApiError): Outcome => ({ error }),
      );
      if (!done(outcome)) left = 0; // what one was refused, the others would be
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, times) }, worker));
}

function countChanged(messages: readonly ChatMessage[], texts: ReadonlyMap<number, string>): number {
  return [...texts].filter(([n, text]) => messages[n] !== undefined && editable(messages[n]).text !== text).length;
}

/** Instructions outside of the messages as one text; null: there are none. */
function systemText(system: unknown): string | null {
  if (system === null || system === undefined || system === "") return null;
  if (typeof system === "string") return system;
  const parts = Array.isArray(system) ? (system as unknown[]) : [system];
  const texts = parts.map((part) => {
    if (typeof part !== "object" || part === null) return String(part);
    const { content, text } = part as { content?: unknown; text?: unknown };
    return String(content ?? text ?? JSON.stringify(part));
  });
  return texts.join("\n");
}

type MessageProps = { message: ChatMessage; text: string | null; onText: (text: string) => void };

function OneMessage({ message, text, onText }: MessageProps) {
  const [isOpen, setOpen] = useState(false);
  const recorded = editable(message);
  const isChanged = text !== null && text !== recorded.text;
  return (
    <div className={isChanged ? `${styles.message} ${styles.changed}` : styles.message}>
      <button type="button" className={styles.summary} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span aria-hidden="true" className="ink-faint">
          {isOpen ? "▾" : "▸"}
        </span>{" "}
        <b className={inkOf(recorded.role)}>{recorded.role}</b>{" "}
        <span className={styles.brief}>{isChanged ? "changed" : <Said>{brief(message)}</Said>}</span>
      </button>
      {isOpen && (
        <>
          <textarea
            className={styles.text}
            aria-label={`${recorded.role} message`}
            rows={Math.min(16, Math.max(3, (text ?? recorded.text).split("\n").length + 1))}
            value={text ?? recorded.text}
            onChange={(event) => onText(event.target.value)}
          />
          {isChanged && (
            <p className={styles.back}>
              <button type="button" className="go" onClick={() => onText(recorded.text)}>
                as recorded
              </button>
            </p>
          )}
        </>
      )}
    </div>
  );
}

function RecordedAnswer({ turn, recorded }: { turn: RunTurn; recorded: AskedAgain["answer"] | null }) {
  const parts = Array.isArray(turn.answer?.parts) ? (turn.answer.parts as { type: string; content?: unknown }[]) : [];
  const text =
    recorded?.text ??
    parts
      .filter((part) => part.type === "text")
      .map((part) => String(part.content ?? ""))
      .join("\n");
  return (
    <div className={styles.said}>
      {turn.calls.map((call, n) => (
        <p key={n} className={styles.call}>
          <Said>{call.shown.startsWith(`${call.name}(`) ? call.shown : `${call.name}(${call.shown})`}</Said>
        </p>
      ))}
      {text !== "" && <Markdown text={text} />}
      {text === "" && turn.calls.length === 0 && <p className="sub">No answer was recorded.</p>}
    </div>
  );
}

function Tally({ answers }: { answers: readonly AskedAgain[] }) {
  const groups = tallyOf(
    answers.map((each) => each.answer),
    answers[0]?.recorded ?? null,
  );
  const text = tallyText(groups);
  return (
    <>
      <div className={styles.tally} role="img" aria-label={text}>
        {groups.map((group) => (
          <i key={group.does} style={{ flex: group.count }} className={group.isRecorded ? styles.same : undefined} />
        ))}
      </div>
      <p className={styles.tallyText}>
        <b>
          <Said>{text}</Said>
        </b>
        . {answers.length < 10 && "With so few, that says little: ask more often."}
      </p>
    </>
  );
}

function OneAnswer({ number, asked, isOpen }: { number: number; asked: AskedAgain; isOpen: boolean }) {
  const { answer, recorded, same, usage } = asked;
  const isOther =
    recorded !== null &&
    (answer.tools.length !== recorded.tools.length ||
      answer.tools.some((tool, n) => tool.name !== recorded.tools[n]?.name));
  return (
    <details className={styles.answer} open={isOpen}>
      <summary>
        <b>{number}</b> {same && <span className="tag">as recorded</span>}
        {isOther && <span className="tag new">another action</span>}{" "}
        <span className="sub">
          {asked.model}
          {usage.output_tokens !== undefined && `, ${count(usage.output_tokens)} tokens`}
          {asked.changed.length > 0 && `, with other ${asked.changed.join(", ")}`}
        </span>
      </summary>
      {answer.tools.map((tool, n) => (
        <p key={n} className={styles.call}>
          <Said>{toolLine(tool)}</Said>
        </p>
      ))}
      {answer.tools.length > 0 && <p className="sub">asks for a tool; it is not run here.</p>}
      {answer.text !== null && answer.text !== "" && (
        <div className={styles.said}>
          <Markdown text={answer.text} />
        </div>
      )}
    </details>
  );
}
