// Why a turn did what it did, as a chain: what set it off, what the model thought, what it chose and left, what came of it.
import { useState } from "react";

import type { RunTurn, TurnChoice } from "../../api/types";
import { Markdown } from "../../parts/Markdown";
import { Said } from "../../parts/Said";
import { saidPlainly } from "../../parts/said";
import { Strength } from "../../parts/Strength";
import { Causes } from "./Causes";
import { Block } from "./Block";
import styles from "./Reasons.module.css";

const BASIS: Readonly<Record<RunTurn["thoughts"][number]["basis"], string>> = {
  captured: "as the provider returned it",
  structured: "as the model wrote it in its answer",
  inferred: "concluded from the messages; not the model’s own words",
};

const TRIGGERS: Readonly<Record<string, string>> = {
  user_message: "the user’s message",
  tool_result: "a result",
  tool_error: "a tool’s error",
  model_error: "the failed call before",
  system_message: "a system message",
  compression: "a summary in place of messages",
  none: "nothing new in the context",
};

/** Reasoning in the model's own words, before what it came to. */
export function Thoughts({ turn }: { turn: RunTurn }) {
  return turn.thoughts
    .filter((thought) => thought.basis !== "inferred")
    .map((thought, n) => (
      <Block key={n} label="Thought" margin={<p>{BASIS[thought.basis]}</p>}>
        <div className={styles.thought}>
          <Markdown text={thought.text} />
        </div>
      </Block>
    ));
}

/** What set it off, what it chose and left, and what came of it: computed from the record, so it is below what was recorded. */
export function Why({ turn }: { turn: RunTurn }) {
  const [isCauses, setCauses] = useState(false);
  const { choice, thoughts } = turn;
  if (choice === null && thoughts.length === 0) return null;
  const inferred = choice === null ? thoughts.filter((thought) => thought.basis === "inferred") : [];
  // What only says again which calls were made is no reason.
  const reason =
    choice?.reason != null && !thoughts.some((thought) => thought.text === choice.reason) ? choice.reason : null;
  const chosen = turn.calls.length > 0 ? turn.calls.map((call) => call.name).join(", ") : "to answer";
  return (
    <Block
      label="Why"
      margin={
        choice !== null && (
          <>
            {choice.strength !== null && (
              <p>
                <Strength word={choice.strength} /> reason, computed from the record
              </p>
            )}
            <button type="button" className="go" onClick={() => setCauses(!isCauses)} aria-expanded={isCauses}>
              {isCauses ? "without its causes" : "all its causes"}
            </button>
          </>
        )
      }
    >
      <ol className={styles.chain}>
        {choice !== null && (
          <li title={choice.trigger_text === null ? undefined : saidPlainly(choice.trigger_text)}>
            after {TRIGGERS[choice.trigger] ?? choice.trigger.replaceAll("_", " ")}
          </li>
        )}
        <li>
          chose{" "}
          <code className={turn.calls.length > 0 ? "ink-tool" : undefined}>
            <Said>{chosen}</Said>
          </code>
          {reason !== null && (
            <>
              {" "}
              because <Said>{reason}</Said>
            </>
          )}
        </li>
        <li>
          <Outcome turn={turn} />
        </li>
      </ol>
      {inferred.map((thought, n) => (
        <p key={n} className={styles.inferred} title={BASIS.inferred}>
          inferred: <Said>{thought.text}</Said>
        </p>
      ))}
      {choice !== null && <Left options={choice.options} />}
      {isCauses && <Causes seq={turn.ended_seq ?? turn.seq} />}
    </Block>
  );
}

function Outcome({ turn }: { turn: RunTurn }) {
  if (turn.status === "failed") return <span className="ink-bad">the model call failed</span>;
  if (turn.calls.length === 0)
    return <>{turn.ended_seq === null ? "under way" : turn.to === "user" ? "an answer to the user" : "an answer"}</>;
  return (
    <>
      {turn.calls.map((call, n) => (
        <span key={call.call_id ?? call.seq ?? n} className={call.status === "failed" ? "ink-bad" : undefined}>
          {n > 0 && "; "}
          {OUTCOMES[call.status] ?? call.status}
        </span>
      ))}
    </>
  );
}

const OUTCOMES: Readonly<Record<string, string>> = {
  open: "not yet: it is under way, waits, or was never made",
  completed: "a result",
  failed: "an error",
};

/** Options that were open and not chosen; those that the model spoke of come first, with its words. */
function Left({ options }: { options: TurnChoice["options"] }) {
  const left = options.filter((option) => !option.chosen);
  if (left.length === 0) return null;
  const considered = left.filter((option) => option.considered !== null);
  const others = left.filter((option) => option.considered === null);
  return (
    <div className={styles.left}>
      {considered.map((option) => (
        <p key={option.name}>
          considered{" "}
          <code>
            <Said>{option.name}</Said>
          </code>
          : “<Said>{option.considered}</Said>”
        </p>
      ))}
      {others.length > 0 && (
        <p className={styles.over} title={saidPlainly(others.map((option) => option.name).join(", "))}>
          over{" "}
          <code>
            <Said>{others.map((option) => option.name).join(", ")}</Said>
          </code>
        </p>
      )}
    </div>
  );
}
