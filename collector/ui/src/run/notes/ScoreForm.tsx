import { type FormEvent, useState } from "react";

import { type ApiError, post } from "../../api/client";
import { useMay } from "../../api/session";
import type { RecordedScore } from "../../api/types";
import { useAnswerName } from "../../approvals/name";
import { runPath, useOnPage } from "../OnPage";
import { refreshNotes } from "./refresh";
import styles from "./Forms.module.css";
import { readScore } from "./values";

/** Scores the run, or the call at an event. `onDone` is called when it is stored, or given up. */
export function ScoreForm({ seq, onDone }: { seq: number | null; onDone: () => void }) {
  const { run } = useOnPage();
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const may = useMay("ingest");
  const [author, setAuthor] = useAnswerName();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const said = (field: string) => String(form.get(field) ?? "").trim();
    setSending(true);
    try {
      await post<RecordedScore>(`${runPath(run.run)}/scores`, {
        name: said("name"),
        value: readScore(said("value")),
        comment: said("comment") || null,
        author: author.trim() || null,
        ...(seq === null ? {} : { at: String(seq) }),
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
      <label>
        Your name
        <input
          className="input"
          maxLength={200}
          autoComplete="name"
          value={author}
          onChange={(event) => setAuthor(event.target.value)}
        />
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
