// What is asked: the messages, which can be changed, and with which model, how often and with which settings.
import { useState } from "react";

import { useMay } from "../../api/session";
import type { ContextAt, RunDetail, RunTurn } from "../../api/types";
import { money } from "../../model/format";
import styles from "./AskPage.module.css";
import { changedMessages, countChanged } from "./edits";
import type { Draft } from "./useDraft";
import { OneMessage } from "./OneMessage";
import type { Question as Sent } from "./useAsked";

const MOST_TIMES = 20;

type Props = {
  run: RunDetail;
  turn: RunTurn;
  context: ContextAt;
  draft: Draft;
  /** The message that is to be edited, from 0; null: none. */
  wanted: number | null;
  isOpen: boolean;
  onAsk: (question: Sent, times: number) => void;
};

export function Question({ run, turn, context, draft, wanted, isOpen, onAsk }: Props) {
  const { messages, texts, setText, recordedSystem, system, setSystem, isUncut } = draft;
  const [model, setModel] = useState("");
  const [temperature, setTemperature] = useState("");
  const [times, setTimes] = useState(3);
  const [problem, setProblem] = useState<string | null>(null);
  const may = useMay("admin");
  const changes = countChanged(messages, texts) + (system === null ? 0 : 1);
  const ask = () => {
    const edits = changedMessages(messages, texts);
    if ("problem" in edits) return setProblem(edits.problem);
    const question: Sent = { at: turn.seq };
    if (model.trim() !== "") question.model = model.trim();
    if (system !== null) question.system = system;
    if (edits.messages !== null || isUncut) question.messages = edits.messages ?? messages;
    if (temperature.trim() !== "") {
      const value = Number(temperature);
      if (!Number.isFinite(value)) return setProblem("The temperature is a number, such as 0.7.");
      question.settings = { temperature: value };
    }
    setProblem(null);
    onAsk(question, times);
  };
  return (
    <section
      aria-label="What is asked"
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && may && !isOpen) ask();
      }}
    >
      <h2>
        What is asked{" "}
        {changes > 0 && (
          <span className="tag state">
            {changes} of {messages.length + (recordedSystem === null ? 0 : 1)} messages changed
          </span>
        )}
      </h2>
      {isUncut && (
        <p className="sub">
          The context as it would have been without the compression before this turn: what it took away is back, in the
          place of the summary.
        </p>
      )}
      {context.missing.length > 0 && (
        <p className="sub">Some of it is not stored, and is left out: it arrives later, or was masked.</p>
      )}
      {recordedSystem !== null && (
        <OneMessage message={{ role: "system", content: recordedSystem }} text={system} onText={setSystem} />
      )}
      {messages.map((message, n) => (
        <OneMessage
          key={n}
          message={message}
          text={texts.get(n) ?? null}
          onText={(text) => setText(n, text)}
          isWanted={n === wanted}
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
        <button type="button" className="button primary" disabled={isOpen || !may} onClick={ask}>
          {times === 1 ? "Ask once" : `Ask ${times} times`} <kbd aria-hidden="true">⌘↵</kbd>
        </button>
        <span className="sub">
          {turn.cost !== null && `about ${money(turn.cost * times)} at the recorded price, `}nothing of the run changes
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
  );
}
