import { post } from "../../api/client";
import type { RecordedScore } from "../../api/types";
import { runPath, useOnPage } from "../OnPage";
import styles from "./Forms.module.css";
import { type Said, SaidForm } from "./SaidForm";
import { readScore } from "./values";

/** Scores the run, or the call at an event. `onDone` is called when it is stored, or given up. */
export function ScoreForm({ seq, onDone }: { seq: number | null; onDone: () => void }) {
  const { run } = useOnPage();
  const send = (said: Said, author: string | null) =>
    post<RecordedScore>(`${runPath(run.run)}/scores`, {
      name: said("name"),
      value: readScore(said("value")),
      comment: said("comment") || null,
      author,
      ...(seq === null ? {} : { at: String(seq) }),
    });
  return (
    <SaidForm name="Score" send={send} onDone={onDone}>
      <label>
        Score
        <input
          className="input"
          name="name"
          required
          maxLength={200}
          defaultValue={seq === null ? "reward" : "right"}
        />
      </label>
      <label>
        Value
        <input
          className="input"
          name="value"
          required
          maxLength={1000}
          placeholder="0 to 1, yes, no, a word"
          autoFocus
        />
      </label>
      <label className={styles.wide}>
        Why
        <input className="input" name="comment" maxLength={10_000} />
      </label>
    </SaidForm>
  );
}
