// Asks for a key; the browser keeps a cookie that stands for it and that no script can read.
import { type FormEvent, useEffect, useId, useRef, useState } from "react";

import { type ApiError, post } from "../api/client";
import { signedIn } from "../api/connection";
import type { Session } from "../api/types";
import styles from "./SignIn.module.css";

type Props = { onSession: (session: Session) => void };

/** The page of somebody who has not signed in yet. */
export function SignIn({ onSession }: Props) {
  return (
    <main className={styles.page}>
      <h1>Playhead</h1>
      <KeyForm onSession={onSession} />
    </main>
  );
}

/** Over the page that was shown when the session expired: the page stays, and goes on after signing in. */
export function SignInAgain({ onSession }: Props) {
  const sheet = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => sheet.current?.showModal(), []);
  return (
    <dialog ref={sheet} className={styles.sheet} aria-labelledby={name} onCancel={(event) => event.preventDefault()}>
      <h1 id={name}>Your session has expired</h1>
      <p className="sub">Sign in again, and go on where you are.</p>
      <KeyForm onSession={onSession} />
    </dialog>
  );
}

function KeyForm({ onSession }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const field = useId();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get("key");
    setSending(true);
    post<Session>("/session", { key })
      .then(
        (session) => {
          if (!session.scopes.includes("read"))
            return setProblem(
              `This key may ${session.scopes.join(" and ") || "do nothing"}. To look at runs, a key needs the scope read or admin.`,
            );
          onSession(session);
          signedIn();
        },
        (refused: ApiError) => setProblem(refused.message),
      )
      .finally(() => setSending(false));
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <label htmlFor={field}>
        This collector needs a key with the scope <code>read</code> or <code>admin</code>.
      </label>
      <input
        id={field}
        name="key"
        type="password"
        className="input"
        required
        autoComplete="current-password"
        autoFocus
      />
      {problem !== null && (
        <div className="failed" role="alert">
          {problem}
        </div>
      )}
      <button className="button primary" type="submit" disabled={isSending}>
        Sign in
      </button>
      <span className="sub">
        Make one with <code>playhead keys create --name me --scope read</code>.
      </span>
    </form>
  );
}
