// One turn of one of two runs: what was thought, what was answered, what was called, and what came back.
import { useState } from "react";

import type { Message, RunTurn, TurnCall } from "../api/types";
import { CallLine } from "../parts/CallLine";
import { Markdown } from "../parts/Markdown";
import type { Marked } from "../parts/marks";
import { Said } from "../parts/Said";
import styles from "./TurnSide.module.css";

/** Characters of a result and of a thought that are shown at first. */
const SHORT = 240;

/** Of two runs, `bad` marks the one that failed and `good` the one that succeeded. */
export type Look = "bad" | "good" | "onlyA" | "onlyB";

/** `marked`: numbers and names that only this run has. */
type Props = { turn: RunTurn; marked: readonly Marked[]; look: Look };

export function TurnSide({ turn, marked, look }: Props) {
  const answer = turn.answer as Message | null;
  const texts = (answer?.parts ?? []).filter((part) => part.type === "text");
  return (
    <div className={styles.turn}>
      {turn.thoughts
        .filter((thought) => thought.basis !== "inferred")
        .map((thought, n) => (
          <p key={n} className={styles.thought}>
            thought: <Long text={thought.text} />
          </p>
        ))}
      {texts.map((part, n) => (
        <div key={n} className={`${styles.said ?? ""} ${styles[look] ?? ""}`}>
          <Markdown text={String(part.content ?? "")} marked={marked} />
        </div>
      ))}
      {turn.calls.map((call, n) => (
        <Call key={n} call={call} />
      ))}
      {turn.error !== null && (
        <p className="ink-bad">
          ✕ <Said>{`${turn.error.type}: ${turn.error.message}`}</Said>
        </p>
      )}
      {turn.status === "open" && <p className="sub">not answered yet</p>}
    </div>
  );
}

function Call({ call }: { call: TurnCall }) {
  return (
    <p className={styles.call}>
      <CallLine call={call} /> →{" "}
      {call.error !== null ? (
        <Said className="ink-bad">{[call.error.type, call.error.message].filter(Boolean).join(": ")}</Said>
      ) : call.result_text === null ? (
        <span className="sub">
          {call.status === "open" ? "not returned yet" : call.missing ? "not stored" : "nothing"}
        </span>
      ) : (
        <code>
          <Long text={call.result_text === "" ? "an empty text" : call.result_text} />
        </code>
      )}
    </p>
  );
}

/** A text, of a long one the beginning until all of it is asked for. */
function Long({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= SHORT || isWhole) return <Said>{text}</Said>;
  return (
    <>
      <Said>{`${text.slice(0, SHORT)}…`}</Said>{" "}
      <button type="button" className="go" onClick={() => setWhole(true)}>
        all of it
      </button>
    </>
  );
}
