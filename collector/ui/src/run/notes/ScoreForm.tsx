import { type FormEvent, useState } from "react";

import { type ApiError, post } from "../../api/client";
import { useMay } from "../../api/session";
import type { RecordedScore } from "../../api/types";
import { runPath, useOnPage } from "../OnPage";
import { refreshNotes } from "./refresh";
import styles from "./Forms.module.css";
import { readScore, savedAuthor, saveAuthor } from "./values";

/** Scores the run, or the call at an event. `onDone` is called when it is stored, or given up. */
export function ScoreForm({ seq, onDone }: { seq: number | null; onDone: () => void }) {
  const { run } = useOnPage();
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const may = useMay("ingest");
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [name, value, comment, author] = ["name", "value", "comment", "author"].map((each) =>
      String(form.get(each) ?? "").trim(),
    ) as [string, string, string, string];
    setSending(true);
    saveAuthor(author);
    try {
      await post<RecordedScore>(`${runPath(run.run)}/scores`, {
        name,
        value: readScore(value),
        comment: comment || null,
        author: author || null,
        ...(seq === null ? {} : { at: seq }),
      });
      refreshNotes();
      onDone();
    } catch (error) {
      setProblem((error as ApiError).message);
      setSending(false);
    }
  };
  return (
    <form className={styles.form} aria-label="Score" onSubmit={(event) => void submit(event)}>
      <label>
        Score
        <input className="input" name="name" required maxLength={200} defaultValue={seq === null ? "reward" : "right"} />
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
      <label>
        Your name
        <input className="input" name="author" maxLength={200} autoComplete="name" defaultValue={savedAuthor()} />
      </label>
      <span className={styles.acts}>
        <button type="submit" className="button primary" disabled={isSending || !may}>
          Save
        </button>
        <button type="button" className="button" onClick={onDone}>
          Cancel
        </button>
      </span>
      {!may && <p className="sub">This key may not write: it needs the scope ingest.</p>}
      {problem !== null && (
        <p className="ink-bad" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
