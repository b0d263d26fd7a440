// Designed states: something failed, nothing is there, something is awaited.
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";

import type { ApiError } from "../api/client";

type FailedProps = {
  error: ApiError;
  isPage?: boolean;
  /** What was asked for: "the turns". */
  what?: string;
  /** Asks again, for *Try again*; errors that can pass are tried again without it, too. */
  onAgain?: () => void;
};

/**
 * What went wrong, in the collector's words, which say what to do. That nothing answers, or that the session has expired,
 * is said once for the page (Connection.tsx): here only what is not there.
 */
export function Failed({ error, isPage = false, what, onAgain }: FailedProps) {
  const Heading = isPage ? "h1" : "h2";
  const isSaidAbove = error.status === 0 || error.status === 401;
  return (
    <div className={isSaidAbove ? "notice" : "notice failed"} role={isSaidAbove ? "status" : "alert"}>
      <Heading>{isSaidAbove ? `Not loaded${what === undefined ? "" : `: ${what}`}` : titleOf(error, what)}</Heading>
      {isSaidAbove ? "It is asked for again as soon as there is an answer." : error.message}
      {(onAgain !== undefined || isPage) && (
        <p>
          {onAgain !== undefined && (
            <button type="button" className="button" onClick={onAgain}>
              Try again
            </button>
          )}{" "}
          {isPage && (
            <Link className="go" href="/">
              All runs
            </Link>
          )}
        </p>
      )}
    </div>
  );
}

const titleOf = (error: ApiError, what: string | undefined): string =>
  what === undefined ? `Error ${error.status}` : `Error ${error.status} instead of ${what}`;

/** Nothing is shown for 300 ms: most answers are there by then. */
export function Loading({ what }: { what: string }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="notice" role="status" aria-live="polite">
      {isSlow && (
        <>
          Loading {what} …
          <span className="bones" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
        </>
      )}
    </div>
  );
}

export function Empty({ children }: { children: ReactNode }) {
  return <div className="notice">{children}</div>;
}

export function Missing() {
  return (
    <main className="notice">
      <h1>There is no such page</h1>
      <Link className="go" href="/">
        All runs
      </Link>
    </main>
  );
}
