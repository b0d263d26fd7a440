import type { RunDetail, RunVerdict } from "../api/types";
import { Outcome, OUTCOMES } from "../parts/Outcome";
import { Said } from "../parts/Said";
import { scoreName } from "./scoreName";

/**
 * What came of a run in tags: the error or the score that the outcome rests on with the outcome's mark, else the
 * outcome's word; further scores; and how it ended, where that is something else. A run that has scores is never called
 * completed without them.
 */
export function OutcomeTags({ run, verdict }: { run: RunDetail; verdict: RunVerdict | null }) {
  const outcome = verdict?.outcome ?? run.outcome;
  const look = OUTCOMES[outcome.word];
  const error = outcome.word === "crashed" ? (verdict?.error?.type ?? run.error?.type) : undefined;
  const rested = run.scored.find((score) => outcome.value !== null && score.name === scoreName(outcome.because));
  const first = error ?? (rested === undefined ? undefined : `${rested.name} ${String(rested.label ?? rested.value)}`);
  return (
    <>
      {first === undefined ? (
        <Outcome word={outcome.word} asTag />
      ) : (
        <span className={`tag ${look.tag}`}>
          <span aria-hidden="true">{look.mark}</span> <span className="visually-hidden">{look.word}: </span>
          <Said>{first}</Said>
        </span>
      )}{" "}
      {run.scored
        .filter((score) => score !== rested)
        .map((score) => (
          <span key={score.name}>
            <span className="tag">
              <Said>{`${score.name} ${String(score.label ?? score.value)}`}</Said>
            </span>{" "}
          </span>
        ))}
      {look.word !== run.status && outcome.word !== "crashed" && <span className="tag">{run.status}</span>}
    </>
  );
}
