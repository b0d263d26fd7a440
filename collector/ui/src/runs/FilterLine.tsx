import { useId, useState, type KeyboardEvent } from "react";

import type { RunSummary } from "../api/types";
import { readFilter, suggestions } from "./filterTerms";

type Props = { runs: readonly RunSummary[]; onApply: (conditions: Record<string, string>) => void };

/** One line in which conditions are written, completed by ↓, ↑ and Tab; Enter applies them. `/` focuses it. */
export function FilterLine({ runs, onApply }: Props) {
  const [line, setLine] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const list = useId();
  const found = isOpen ? suggestions(line, runs) : [];
  const write = (text: string, open = true) => {
    setLine(text);
    setOpen(open);
    setChosen(-1);
  };
  const apply = () => {
    const conditions = readFilter(line);
    write("", false);
    if (Object.keys(conditions).length > 0) onApply(conditions);
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
      write((found[Math.max(0, chosen)] as { line: string }).line);
    } else if (event.key === "Escape") {
      if (!isOpen) event.currentTarget.blur();
      setOpen(false);
    }
  };
  return (
    <div className="filter-line grow">
      <input
        id="filter-line"
        className="input"
        role="combobox"
        aria-label="Filter runs"
        aria-expanded={found.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        placeholder="agent:support status:failed, or words of a name, session, user, tag"
        autoComplete="off"
        spellCheck={false}
        value={line}
        onChange={(event) => write(event.target.value)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      <kbd aria-hidden="true">/</kbd>
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
            <code>{each.label}</code> <span className="sub">{each.about}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
