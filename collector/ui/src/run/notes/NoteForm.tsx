import { type FormEvent, useState } from "react";

import { type ApiError, post } from "../../api/client";
import { useMay } from "../../api/session";
import type { Note } from "../../api/types";
import { useAnswerName } from "../../approvals/name";
import { runPath, useOnPage } from "../OnPage";
import styles from "./Forms.module.css";
import { refreshNotes } from "./refresh";

/** A note or a label about an event of the run. `onDone` is called when it is stored, or given up. */
export function NoteForm({ seq, onDone }: { seq: number; onDone: () => void }) {
  const { run } = useOnPage();
  const [problem, setProblem] = useState<string | null>(null);
  const may = useMay("ingest");
  const [author, setAuthor] = useAnswerName();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [text, label] = [String(form.get("text") ?? "").trim(), String(form.get("label") ?? "").trim()];
    if (text === "" && label === "") return setProblem("A note has a text, a label, or both.");
    try {
      await post<Note>(`${runPath(run.run)}/notes`, {
        text: text || null,
        label: label || null,
        at: String(seq),
        author: author.trim() || null,
      });
      refreshNotes();
      onDone();
    } catch (error) {
      setProblem((error as ApiError).message);
    }
  };
  return (
    <form className={styles.form} aria-label="Note" onSubmit={(event) => void submit(event)}>
      <label className={styles.wide}>
        Note
        <textarea className="input" name="text" rows={2} maxLength={10_000} autoFocus />
      </label>
      <label>
        Label
        <input className="input" name="label" maxLength={100} placeholder="such as: wrong tool" />
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
        <button type="submit" className="button primary" disabled={!may}>
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
