// The answer that was recorded, and those that came back, with how many of them do the same.
import type { AskedAgain, RunTurn } from "../../api/types";
import { count, duration, money } from "../../model/format";
import { Markdown } from "../../parts/Markdown";
import { Failed } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import styles from "./AskPage.module.css";
import { tallyOf, tallyText, toolLine } from "./tally";
import type { Asked } from "./useAsked";

/** Answers that are open at first. */
const OPEN = 3;

/** `recorded`: the answer as the collector compares it, once something was asked. */
export function Recorded({ turn, recorded }: { turn: RunTurn; recorded: AskedAgain["answer"] | null }) {
  return (
    <section aria-label="Recorded">
      <h2>Recorded</h2>
      <p className="sub">
        {duration(turn.model_ms)}
        {turn.usage.input_tokens !== undefined &&
          ` · ${count(turn.usage.input_tokens)} → ${count(turn.usage.output_tokens ?? 0)} tokens`}
        {turn.cost !== null && ` · ${money(turn.cost)}`}
      </p>
      <RecordedAnswer turn={turn} recorded={recorded} />
    </section>
  );
}

/** `onFork`: somebody wants a fork in which the model says this. */
type AnswersProps = { asked: Asked; onFork: (answer: AskedAgain["answer"]) => void };

export function AskedAnswers({ asked, onFork }: AnswersProps) {
  const { outcomes, open } = asked;
  const answers = outcomes.flatMap((each) => ("answer" in each ? [each.answer] : []));
  return (
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
          <OneAnswer key={n} number={n + 1} asked={outcome.answer} isOpen={n < OPEN} onFork={onFork} />
        ),
      )}
      {outcomes.length === 0 && open === 0 && (
        <p className="sub">Change what is asked, or ask the same again: models answer differently each time.</p>
      )}
    </section>
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

type OneProps = { number: number; asked: AskedAgain; isOpen: boolean; onFork: AnswersProps["onFork"] };

function OneAnswer({ number, asked, isOpen, onFork }: OneProps) {
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
          <Said>{asked.model}</Said>
          {usage.output_tokens !== undefined && `, ${count(usage.output_tokens)} tokens`}
          {asked.changed.length > 0 && `, with other ${asked.changed.join(", ")}`}
        </span>
      </summary>
      {answer.tools.map((tool, n) => (
        <p key={n} className={styles.call}>
          <Said>{toolLine(tool)}</Said>
        </p>
      ))}
      {answer.text !== null && answer.text !== "" && (
        <div className={styles.said}>
          <Markdown text={answer.text} />
        </div>
      )}
      <p className="sub">
        {answer.tools.length > 0 && "asks for a tool; it is not run here. "}
        <button type="button" className="go" onClick={() => onFork(answer)}>
          Fork with this answer
        </button>
      </p>
    </details>
  );
}
