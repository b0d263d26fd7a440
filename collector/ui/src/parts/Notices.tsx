// Designed states: something failed, nothing is there, something is awaited.
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";

import type { ApiError } from "../api/client";

/** What went wrong, in the collector's words, which say what to do. */
export function Failed({ error, isPage = false }: { error: ApiError; isPage?: boolean }) {
  const Heading = isPage ? "h1" : "h2";
  return (
    <div className="notice failed" role="alert">
      <Heading>{error.status === 0 ? "No answer" : `Error ${error.status}`}</Heading>
      {error.message}
      {isPage && (
        <p>
          <Link className="go" href="/">
            All runs
          </Link>
        </p>
      )}
    </div>
  );
}

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
