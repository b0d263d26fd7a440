import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";

import { remove } from "../api/client";
import type { Session } from "../api/types";
import { useWaiting, useWaitingRefreshed } from "../approvals/waiting";
import { KeysHelp } from "./KeysHelp";

/** Name, pages, the line that finds runs (`/`), theme, help (`?`), and sign-out when there is a session to end. */
export function TopBar({ session, onSession }: { session: Session; onSession: (session: Session) => void }) {
  const [at, go] = useLocation();
  const [isHelp, setHelp] = useState(false);
  const waiting = useWaiting().items?.length ?? 0;
  useWaitingRefreshed();
  const find = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?") setHelp(true);
      else if (event.key === "/") {
        event.preventDefault();
        (document.getElementById("filter-line") ?? find.current)?.focus(); // the list of runs has a line of its own
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <header className="top">
      <Link className="logo" href="/">
        <i aria-hidden="true" />
        Playhead
      </Link>
      <nav aria-label="Pages">
        <Link href="/" aria-current={at === "/" ? "page" : undefined}>
          Runs
        </Link>
        <Link href="/across" aria-current={at === "/across" ? "page" : undefined}>
          Across runs
        </Link>
        {(waiting > 0 || at === "/approvals") && (
          <Link href="/approvals" aria-current={at === "/approvals" ? "page" : undefined}>
            Approvals
            {waiting > 0 && (
              <>
                {" "}
                <span className="count">{waiting}</span>
                <span className="visually-hidden"> open</span>
              </>
            )}
          </Link>
        )}
        <Link href="/search" aria-current={at === "/search" ? "page" : undefined}>
          Search
        </Link>
        <a href="api/v1/docs">API</a>
      </nav>
      <form
        className="find"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          go(`/?text=${encodeURIComponent(find.current?.value.trim() ?? "")}`);
        }}
      >
        <input
          ref={find}
          className="input"
          aria-label="Find runs"
          placeholder="Find runs by name, session, user, tag"
        />
        <kbd aria-hidden="true">/</kbd>
      </form>
      <button className="icon" type="button" onClick={turn} aria-label="Light or dark">
        ◐
      </button>
      <button className="icon" type="button" onClick={() => setHelp(true)} aria-label="Keys">
        ?
      </button>
      {session.needs_key && (
        <button className="icon" type="button" onClick={() => void remove<Session>("/session").then(onSession)}>
          Sign out
        </button>
      )}
      {isHelp && <KeysHelp onClose={() => setHelp(false)} />}
    </header>
  );
}

/** Whether a key belongs to a field in which somebody writes. */
export function isTyping(event: KeyboardEvent): boolean {
  const on = event.target;
  return on instanceof HTMLElement && (on.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(on.tagName));
}

function turn(): void {
  const root = document.documentElement;
  const isDark =
    (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}
