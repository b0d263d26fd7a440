import type { RunTurn, Suspect } from "../../api/types";
import { MessageView } from "../../parts/MessageView";
import { asMessage } from "../../parts/messageParts";
import { Said } from "../../parts/Said";
import { Block } from "./Block";
import styles from "./Answered.module.css";
import { Evidence } from "./Evidence";
import { findingsOfAnswer, hasText, markedInAnswer } from "./evidence";

/** What the model said, with what a finding contradicts marked in it. Tools that it asked for have their own blocks. */
export function Answered({
  turn,
  suspect,
  marked,
}: {
  turn: RunTurn;
  suspect: Suspect | undefined;
  marked: readonly string[];
}) {
  if (turn.answer === null)
    return turn.status === "failed" || (turn.ended_seq !== null && turn.answer_ref === null) ? null : (
      <Block label="Answered">
        {turn.ended_seq === null ? (
          <span className="bones" role="status" aria-label="The answer is awaited">
            <i />
            <i />
            <i />
          </span>
        ) : (
          <p className="sub">The answer is not stored: it arrives later, or was masked.</p>
        )}
      </Block>
    );
  if (!hasText(turn.answer)) return null;
  const message = asMessage(turn.answer);
  const said =
    message === null
      ? null
      : { ...message, parts: message.parts.filter((part) => part.type !== "tool_call" && part.type !== "reasoning") };
  const findings = findingsOfAnswer(turn, suspect);
  return (
    <Block
      label="Answered"
      of={turn.to === "user" ? "the user" : turn.calls.length > 0 ? "beside its calls" : undefined}
      isHot={findings.length > 0}
      margin={
        suspect !== undefined &&
        findings.length > 0 && <Evidence suspect={suspect} findings={findings} beside={turn.answer_ref} />
      }
    >
      <div className={styles.said}>
        <MessageView message={said} marked={[...markedInAnswer(suspect, turn.answer_ref), ...marked]} />
      </div>
      {turn.finish_reasons.some(
        (reason) => reason !== "stop" && reason !== "tool_calls" && reason !== "end_turn" && reason !== "tool_use",
      ) && (
        <p className="sub">
          ended by: <Said>{turn.finish_reasons.join(", ")}</Said>
        </p>
      )}
    </Block>
  );
}
