// Name, pages, what waits for a person, and the one box for finding and doing.
import { useState } from "react";
import { Link, useLocation } from "wouter";

import { remove } from "../api/client";
import type { Session } from "../api/types";
import { useWaiting, useWaitingRefreshed } from "../approvals/waiting";
import { KeysHelp } from "./KeysHelp";
import { Menu, type MenuItem } from "./Menu";
import { PAGES } from "./pages";
import { Palette } from "./Palette";
import styles from "./TopBar.module.css";
import { isForPage } from "./typing";
import { useKeyPress } from "./useKeyPress";

/** An element with this id takes `/` on its page; on all others, `/` opens the palette. */
export const FILTER_LINE = "filter-line";

type Props = { session: Session; onSession: (session: Session) => void };

export function TopBar({ session, onSession }: Props) {
  const [at] = useLocation();
  const [open, setOpen] = useState<"keys" | "palette" | null>(null);
  const waiting = useWaiting().items?.length ?? 0;
  useWaitingRefreshed();
  useKeyPress((event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k" && !event.altKey) {
      event.preventDefault();
      setOpen("palette");
    } else if (!isForPage(event)) return;
    else if (event.key === "?") setOpen("keys");
    else if (event.key === "/") {
      event.preventDefault();
      const line = document.getElementById(FILTER_LINE);
      if (line === null) setOpen("palette");
      else line.focus();
    }
  });
  const signOut = () => void remove<Session>("/session").then(onSession);
  const more: MenuItem[] = [
    { label: "Light or dark", onChoose: turnTheme },
    { label: "Keys", key: "?", onChoose: () => setOpen("keys") },
    { label: "Project", href: "project" },
    { label: "Storage", href: "storage" },
    { label: "API", href: "api/v1/docs" },
    ...(session.needs_key ? [{ label: "Sign out", onChoose: signOut }] : []),
  ];
  return (
    <header className={styles.top}>
      <Link className={styles.logo ?? ""} href="/" aria-label="Playhead, to the runs">
        <i aria-hidden="true" />
        <span>Playhead</span>
      </Link>
      <nav aria-label="Pages">
        {PAGES.map(({ href, label }) => (
          <Link key={href} href={href} aria-current={at === href ? "page" : undefined}>
            {label}
            {href === "/approvals" && waiting > 0 && (
              <>
                {" "}
                <span className={styles.count}>{waiting}</span>
                <span className="visually-hidden"> open</span>
              </>
            )}
          </Link>
        ))}
      </nav>
      <button
        type="button"
        className={styles.find}
        aria-haspopup="dialog"
        aria-keyshortcuts="Meta+K Control+K"
        onClick={() => setOpen("palette")}
      >
        <span>Find or do anything</span>
        <b aria-hidden="true">⌕</b>
        <kbd aria-hidden="true">{IS_MAC ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <Menu label="⋯" name="More" className={styles.more ?? ""} items={more} />
      {open === "keys" && <KeysHelp onClose={() => setOpen(null)} />}
      {open === "palette" && (
        <Palette
          onClose={() => setOpen(null)}
          frame={more.flatMap(({ label, key, onChoose }) =>
            typeof label === "string" && onChoose !== undefined
              ? [{ label, run: onChoose, ...(key === undefined ? {} : { key }) }]
              : [],
          )}
        />
      )}
    </header>
  );
}

const IS_MAC = /mac|iphone|ipad/i.test(navigator.userAgent);

function turnTheme(): void {
  const root = document.documentElement;
  const isDark =
    (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}
