// One line in which conditions are written, and chips: those that hold, and names that begin a new one.
import { useId, useRef, useState, type KeyboardEvent } from "react";

import type { RunSummary } from "../api/types";
import { Said } from "../parts/Said";
import { FILTER_LINE } from "../parts/TopBar";
import { readFilter, suggestions } from "./filterTerms";
import type { Held } from "./query";
import styles from "./RunsPage.module.css";

/** Conditions that a chip begins. */
const BEGINNINGS = ["outcome", "score", "agent", "model", "tool", "tag", "session"];

type Props = {
  /** Runs whose values complete a condition. */
  runs: readonly RunSummary[];
  held: readonly Held[];
  onChange: (changes: Record<string, string | readonly string[] | null>) => void;
};

/** ↓, ↑ and Tab complete, Enter applies. `/` focuses the line. */
export function FilterLine({ runs, held, onChange }: Props) {
  const [line, setLine] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  const found = isOpen ? suggestions(line, runs) : [];
  const write = (text: string, open = true) => {
    setLine(text);
    setOpen(open);
    setChosen(-1);
  };
  const begin = (name: string) => {
    write(line === "" || line.endsWith(" ") ? `${line}${name}:` : `${line} ${name}:`);
    field.current?.focus();
  };
  const apply = () => {
    const conditions = readFilter(line);
    write("", false);
    if (Object.keys(conditions).length > 0) onChange(conditions);
  };
  const press = (event: KeyboardEvent<HTMLInputElement>) => {
    const move = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (move !== 0) {
      event.preventDefault();
      setOpen(true);
      setChosen((before) =>
        found.length === 0 ? -1 : (before + move + found.length + (before < 0 && move < 0 ? 1 : 0)) % found.length,
      );
    } else if (event.key === "Enter") {
      const pick = found[chosen];
      if (pick === undefined) apply();
      else write(pick.line);
    } else if (event.key === "Tab" && !event.shiftKey && line !== "" && found.length > 0) {
      event.preventDefault();
      write(found[Math.max(0, chosen)]?.line ?? line);
    } else if (event.key === "Escape") {
      if (!isOpen) event.currentTarget.blur();
      setOpen(false);
    }
  };
  return (
    <div className={styles.filter} role="search" aria-label="Conditions">
      <div className={styles.line}>
        <input
          ref={field}
          id={FILTER_LINE}
          className="input"
          role="combobox"
          aria-label="Filter runs"
          aria-expanded={found.length > 0}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
          placeholder="outcome:failed reward<1 tool:update_reservation_flights cost>0.1 …  (/)"
          autoComplete="off"
          spellCheck={false}
          value={line}
          onChange={(event) => write(event.target.value)}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={press}
        />
        <ul id={list} role="listbox" aria-label="Completions" hidden={found.length === 0}>
          {found.map((each, n) => (
            <li
              key={each.label}
              id={`${list}-${n}`}
              role="option"
              aria-selected={n === chosen}
              onPointerDown={(event) => {
                event.preventDefault();
                write(each.line);
              }}
            >
              <code>
                <Said>{each.label}</Said>
              </code>{" "}
              <span className="sub">{each.about}</span>
            </li>
          ))}
        </ul>
      </div>
      {held.map((each) => (
        <button
          key={each.label}
          type="button"
          className={`${styles.chip} ${styles.held}`}
          title="Take this condition back"
          onClick={() => onChange(each.changes)}
        >
          <Said>{each.label}</Said> <span aria-hidden="true">✕</span>
          <span className="visually-hidden">: take it back</span>
        </button>
      ))}
      {BEGINNINGS.map((name) => (
        <button key={name} type="button" className={styles.chip} onClick={() => begin(name)}>
          {name}
        </button>
      ))}
    </div>
  );
}
