// One box for finding and doing: acts of the page, runs, pages, and searches. Full keyboard: arrows, Enter, Escape.
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { useLocation } from "wouter";

import type { Page, RunSummary } from "../api/types";
import { useApi } from "../api/useApi";
import { type PageAction, useOfferedActions } from "./actions";
import styles from "./Palette.module.css";
import { isIdPart, type PaletteItem, paletteItems, SHOWN_RUNS } from "./paletteItems";
import { Said } from "./Said";
import { PAGES } from "./pages";

/** A pause in writing after which runs are looked for. */
const PAUSE_MS = 150;

export function Palette({ onClose, frame }: { onClose: () => void; frame: readonly PageAction[] }) {
  const [, go] = useLocation();
  const [written, setWritten] = useState("");
  const [chosen, setChosen] = useState(0);
  const sheet = useRef<HTMLDialogElement>(null);
  const list = useId();
  const actions = useOfferedActions();
  const runs = useRunsLike(written.trim());
  useEffect(() => sheet.current?.showModal(), []);
  const items = paletteItems(written, { actions: actions(), frame, pages: PAGES, runs });
  const at = Math.min(chosen, items.length - 1);
  useEffect(() => {
    document.getElementById(`${list}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, list]);
  const choose = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    sheet.current?.close();
    if ("href" in item) go(item.href);
    else item.run();
  };
  const press = (event: KeyboardEvent) => {
    const to = moved(event.key, at, items.length);
    if (to !== null) {
      event.preventDefault();
      setChosen(to);
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(items[at]);
    }
  };
  return (
    <dialog
      ref={sheet}
      className={styles.palette}
      aria-label="Find or do anything"
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && sheet.current?.close()}
    >
      <input
        className={styles.line}
        role="combobox"
        aria-label="Find or do anything"
        aria-expanded="true"
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
        placeholder="A run, its id, a page, or what to do"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={written}
        onChange={(event) => {
          setWritten(event.target.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <ul id={list} role="listbox" aria-label="Found" className={styles.list}>
        {items.map((item, n) => (
          <li
            key={`${item.group} ${n}`}
            id={`${list}-${n}`}
            role="option"
            aria-selected={n === at}
            className={styles.item}
            onPointerMove={() => setChosen(n)}
            onClick={() => choose(item)}
          >
            <span className={styles.group}>{item.group === items[n - 1]?.group ? "" : item.group}</span>
            <Said className={styles.label}>{item.label}</Said>
            <Said className={styles.about}>{item.about}</Said>
            {item.key !== null && <kbd>{item.key}</kbd>}
          </li>
        ))}
      </ul>
    </dialog>
  );
}

/** Where a key leads in a list of `length` lines; null: it is no key of the list. */
function moved(key: string, at: number, length: number): number | null {
  if (length === 0) return null;
  if (key === "ArrowDown") return (at + 1) % length;
  if (key === "ArrowUp") return (at - 1 + length) % length;
  if (key === "PageDown") return Math.min(at + 8, length - 1);
  if (key === "PageUp") return Math.max(at - 8, 0);
  return null;
}

/** Runs with this text in their name, session, user, agents or tags, or with this part of an id; the newest ones first. */
function useRunsLike(text: string): readonly RunSummary[] {
  const [asked, setAsked] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const limit = SHOWN_RUNS;
  const byText = useApi<Page<RunSummary>>("/runs", { text: asked, limit });
  const byId = useApi<Page<RunSummary>>(isIdPart(asked) ? "/runs" : null, { id: asked, limit });
  const found = [...(byId.data?.items ?? []), ...(byText.data?.items ?? [])];
  return found.filter((run, n) => found.findIndex((each) => each.run === run.run) === n);
}
