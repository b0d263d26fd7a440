// What the forms of a score and of a note have in common: sending what was typed, who says so, and the buttons.
import { type FormEvent, type ReactNode, useState } from "react";

import { useMay } from "../../api/session";
import { useAnswerName } from "../../approvals/name";
import styles from "./Forms.module.css";
import { refreshNotes } from "./refresh";

/** The text of a field, without space around it. */
export type Said = (field: string) => string;

/**
 * `send` stores what was typed, or throws an error whose message is shown; the form stays as it was then. `onDone` is
 * called when it is stored, or given up.
 */
type Props = {
  name: string;
  send: (said: Said, author: string | null) => Promise<unknown>;
  onDone: () => void;
  children: ReactNode;
};

export function SaidForm({ name, send, onDone, children }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const may = useMay("ingest");
  const [author, setAuthor] = useAnswerName();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setSending(true);
    try {
      await send((field) => String(form.get(field) ?? "").trim(), author.trim() || null);
      refreshNotes();
      onDone();
    } catch (error) {
      setProblem((error as Error).message);
      setSending(false);
    }
  };
  return (
    <form className={styles.form} aria-label={name} onSubmit={(event) => void submit(event)}>
      {children}
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
