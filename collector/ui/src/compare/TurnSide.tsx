// One turn of one of two runs: what was thought, what was answered, what was called, and what came back.
import type { Message, RunTurn, TurnCall } from "../api/types";
import { CallLine } from "../parts/CallLine";
import { Long } from "../parts/Long";
import { Markdown } from "../parts/Markdown";
import type { Marked } from "../parts/marks";
import styles from "./TurnSide.module.css";

/** Characters of a result, a thought and an error that are shown at first. */
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
            thought: <Long text={thought.text} short={SHORT} />
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
          ✕ <Long text={`${turn.error.type}: ${turn.error.message}`} short={SHORT} />
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
        <span className="ink-bad">
          <Long text={[call.error.type, call.error.message].filter(Boolean).join(": ")} short={SHORT} />
        </span>
      ) : call.result_text === null ? (
        <span className="sub">
          {call.status === "open" ? "not returned yet" : call.missing ? "not stored" : "nothing"}
        </span>
      ) : (
        <code>
          <Long text={call.result_text === "" ? "an empty text" : call.result_text} short={SHORT} />
        </code>
      )}
    </p>
  );
}
