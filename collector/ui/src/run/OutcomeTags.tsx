import type { RunDetail, RunVerdict } from "../api/types";
import { Outcome } from "../parts/Outcome";
import { Said } from "../parts/Said";

/** Words that say nothing more than the status beside them. */
const SAME_AS_STATUS: Readonly<Record<string, string>> = { running: "running", cancelled: "cancelled", lost: "lost" };

/** What came of a run, with its scores: a run that has scores is never called completed without them. */
export function OutcomeTags({ run, verdict }: { run: RunDetail; verdict: RunVerdict | null }) {
  const outcome = verdict?.outcome ?? run.outcome;
  const error = outcome.word === "crashed" ? (verdict?.error?.type ?? run.error?.type) : undefined;
  return (
    <>
      <Outcome word={outcome.word} asTag />{" "}
      {error != null && (
        <>
          <span className="tag bad">
            ✕ <Said>{error}</Said>
          </span>{" "}
        </>
      )}
      {run.scored.map((score) => (
        <span key={score.name}>
          <span className={`tag ${scoreTag(outcome, score.name)}`}>
            <Said>{`${score.name} ${String(score.label ?? score.value)}`}</Said>
          </span>{" "}
        </span>
      ))}
      {SAME_AS_STATUS[outcome.word] !== run.status && outcome.word !== "crashed" && (
        <span className="tag">{run.status}</span>
      )}
    </>
  );
}

/** The score that the outcome rests on has the outcome's colour. */
function scoreTag(outcome: RunVerdict["outcome"], name: string): string {
  if (!outcome.because.startsWith(name)) return "";
  return outcome.word === "failed" ? "bad" : outcome.word === "succeeded" ? "good" : "";
}
