import { type FormEvent, useState } from "react";

import { type ApiError, post } from "../api/client";
import type { Session } from "../api/types";

/** Asks for a key once; the browser keeps a cookie that stands for it and that no script can read. */
export function SignIn({ onSession }: { onSession: (session: Session) => void }) {
  const [error, setError] = useState<string | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get("key");
    post<Session>("/session", { key }).then(
      (session) =>
        session.scopes.includes("read")
          ? onSession(session)
          : setError("This key may not read: it needs the scope read."),
      (refused: ApiError) => setError(refused.message),
    );
  };
  return (
    <main>
      <form className="signin" onSubmit={submit}>
        <h1>Playhead</h1>
        <label htmlFor="key">
          This collector needs a key with the scope <code>read</code>.
        </label>
        <input
          id="key"
          name="key"
          type="password"
          className="input"
          required
          autoComplete="current-password"
          autoFocus
        />
        {error !== null && (
          <div className="failed" role="alert">
            {error}
          </div>
        )}
        <button className="button main" type="submit">
          Sign in
        </button>
        <span className="sub">
          Make one with <code>playhead keys create --name me --scope read</code>.
        </span>
      </form>
    </main>
  );
}
