import { useState } from "react";

import type { RunDetail, RunVerdict, Suspects } from "../../api/types";
import { Said } from "../../parts/Said";
import { CompareWith } from "../acts/CompareWith";
import { Explain } from "../acts/Explain";
import { LastAnswer } from "./LastAnswer";
import { ScoreForm } from "../notes/ScoreForm";
import styles from "./NothingKnown.module.css";

/** Nothing says what went wrong, or whether anything did: that, and what can be done about it. */
export function NothingKnown({
  run,
  verdict,
  suspects,
}: {
  run: RunDetail;
  verdict: RunVerdict;
  suspects: Suspects | null;
}) {
  const [shown, setShown] = useState<"explain" | "compare" | "score" | null>(null);
  const isFailed = verdict.outcome.word === "failed";
  return (
    <div className={styles.nothing}>
      <p>
        {isFailed
          ? (suspects?.note ?? "No rule found anything. That does not say the run is right.")
          : SENTENCES[verdict.outcome.word]}
        {suspects?.note != null && !isFailed && (
          <>
            {" "}
            <Said>{suspects.note}</Said>
          </>
        )}
        {suspects !== null && suspects.looked_at < suspects.steps && (
          <>
            {" "}
            Of its {suspects.steps} turns, the last {suspects.looked_at} were looked at.
          </>
        )}
      </p>
      <LastAnswer verdict={verdict} />
      <p className={styles.acts}>
        {!isFailed && (
          <button type="button" className="button" onClick={() => setShown("score")}>
            Score it…
          </button>
        )}
        <button type="button" className="button" onClick={() => setShown("explain")}>
          Explain…
        </button>
        <button type="button" className="button" onClick={() => setShown("compare")}>
          Compare with a run that succeeded…
        </button>
      </p>
      {shown === "score" && <ScoreForm seq={null} onDone={() => setShown(null)} />}
      {shown === "explain" && <Explain run={run.run} seq={null} onClose={() => setShown(null)} />}
      {shown === "compare" && <CompareWith run={run} onClose={() => setShown(null)} />}
    </div>
  );
}

const SENTENCES: Readonly<Record<RunVerdict["outcome"]["word"], string>> = {
  unknown: "It ended without an error, and nobody scored it: whether it did what it should is not known.",
  cancelled: "It was cancelled. No rule found anything before that.",
  lost: "Its process is gone, and nothing was recorded of its end.",
  crashed: "An error came out of it, of which nothing else was recorded.",
  failed: "",
  succeeded: "",
  waiting: "It waits, and what for is not known here.",
  running: "",
};
