// The line that finds a text in the run: how many places, where they are, and going from one to the next.
import { type KeyboardEvent, useEffect, useRef, useState } from "react";

import type { RunHit, TurnRow } from "../api/types";
import { count } from "../model/format";
import { MarkedText } from "../parts/MarkedText";
import styles from "./FindBar.module.css";
import { asWritten, type Found, type PageAction } from "./page";
import type { Find } from "./useFind";

type Props = {
  find: Find;
  found: Found | null;
  turns: readonly TurnRow[];
  dispatch: (action: PageAction) => void;
};

export function FindBar({ find, found, dispatch }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(found?.text ?? "");
  useEffect(() => field.current?.focus(), []);
  const type = (text: string) => {
    setTyped(text);
    find.look(text);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") find.close();
    else if (event.key === "Enter") dispatch({ type: "hit", step: event.shiftKey ? -1 : 1 });
    else return;
    event.preventDefault();
  };
  const hit = found?.hits?.[found.place];
  return (
    <div className={styles.find} role="search" aria-label="In this run">
      <input
        ref={field}
        className="input"
        type="search"
        aria-label="Find in this run"
        placeholder="Find in all messages, arguments and results of this run"
        value={typed}
        maxLength={1000}
        onChange={(event) => type(event.target.value)}
        onKeyDown={press}
      />
      <span className={styles.said} role="status">
        {saying(find, found)}
      </span>
      <button
        type="button"
        className="button"
        aria-label="Previous place"
        onClick={() => dispatch({ type: "hit", step: -1 })}
      >
        ‹
      </button>
      <button
        type="button"
        className="button"
        aria-label="Next place"
        onClick={() => dispatch({ type: "hit", step: 1 })}
      >
        ›
      </button>
      {hit !== undefined && found !== null && <Where hit={hit} text={found.text} />}
      <button type="button" className="button quiet" onClick={find.close}>
        Close
      </button>
    </div>
  );
}

function saying(find: Find, found: Found | null): string {
  if (find.error !== null) return find.error.message;
  if (found === null) return "";
  if (found.hits === null) return "Looking …";
  if (found.hits.length === 0) return found.hasMore ? "Looking …" : `“${found.text}” stands nowhere in this run.`;
  const of = `${count(found.hits.length)}${found.hasMore ? " or more" : ""}`;
  return `${count(found.place + 1)} of ${of}`;
}

const WHERE: Readonly<Record<string, string>> = {
  user: "the user said",
  answer: "answered",
  reasoning: "thought",
  system: "system prompt",
  arguments: "argument",
  result: "result",
  error: "error",
  state: "state",
  name: "name",
};

function Where({ hit, text }: { hit: RunHit; text: string }) {
  return (
    <span className={styles.where}>
      {hit.turn === null ? `event ${hit.seq}` : `turn ${hit.turn}`}, {WHERE[hit.where] ?? hit.where}: “
      <MarkedText text={hit.quote} marked={asWritten(hit, text)} />”
    </span>
  );
}
