import { useState } from "react";

import type { RunVerdict } from "../../api/types";
import { ScoreForm } from "../notes/ScoreForm";
import { LastAnswer } from "./LastAnswer";
import styles from "./NothingKnown.module.css";

/** The last answer, and the form to say something else about the run. */
export function Succeeded({ verdict }: { verdict: RunVerdict }) {
  const [isScoring, setScoring] = useState(false);
  return (
    <div className={styles.nothing}>
      {verdict.answer === null && <p>It ended without an answer to a user.</p>}
      <LastAnswer verdict={verdict} />
      {isScoring ? (
        <ScoreForm seq={null} onDone={() => setScoring(false)} />
      ) : (
        <button type="button" className="button" onClick={() => setScoring(true)}>
          Score it…
        </button>
      )}
    </div>
  );
}
