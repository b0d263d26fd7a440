// Where else a message was: shown at the message that is looked at.
import { type FocusEvent, useEffect, useMemo, useState } from "react";

import type { ContentAbout } from "../../api/types";
import { useApi } from "../../api/useApi";
import { count } from "../../model/format";
import { callsWithMessage, type CallLink, type SameMessage as SameCalls } from "../../model/steps/sameMessage";

const LOOKED_MS = 150;
const WORDS: Record<string, string> = {
  first: "The first call with this message",
  before: "The call with this message before the one that is shown",
  after: "The call with this message after the one that is shown",
  last: "The last call with this message",
};

/** Whether the pointer or the focus has been within an element for a moment, and the handlers that it needs for that. */
export function useLookedAt() {
  const [isOver, setOver] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const [isLookedAt, setLookedAt] = useState(false);
  useEffect(() => {
    if (!isOver && !isFocused) return setLookedAt(false);
    const timer = setTimeout(() => setLookedAt(true), LOOKED_MS);
    return () => clearTimeout(timer);
  }, [isOver, isFocused]);
  const [handlers] = useState({
    onPointerEnter: () => setOver(true),
    onPointerLeave: () => setOver(false),
    onFocus: () => setFocused(true),
    onBlur: (event: FocusEvent<HTMLElement>) => !event.currentTarget.contains(event.relatedTarget) && setFocused(false),
  });
  return { isLookedAt, handlers };
}

/** The run whose calls are looked for, and the call that is shown. Answers about a run that has ended are kept. */
export type Shown = { run: string; seq: number; hasEnded: boolean };

type Props = { target: string; since: number | null; shown: Shown; onMove: (seq: number) => void };

/** The event with which a message came, and the calls of the run that had the same one: each moves the playhead there. */
export function SameMessage({ target, since, shown, onMove }: Props) {
  const { data, error } = useApi<ContentAbout>(`/content/${target}/about`, { run: shown.run }, shown.hasEnded);
  const found = useMemo(() => (data === null ? null : callsWithMessage(data, shown.seq)), [data, shown.seq]);
  return (
    <span className="same" role="group" aria-label="The same message elsewhere">
      {since !== null && (
        <button
          type="button"
          className="go"
          title="The event with which it came into the run"
          onClick={() => onMove(since)}
        >
          since event {since}
        </button>
      )}
      {error !== null && <span>calls not known: {error.message}</span>}
      {found === null ? error === null && <span>…</span> : <span>{callsText(found)}</span>}
      {found?.links.map((link) => (
        <ToCall key={link.seq} link={link} onMove={onMove} />
      ))}
    </span>
  );
}

function callsText({ calls, isCut, links }: SameCalls): string {
  if (calls <= 1 && !isCut) return "in this call only";
  return `in ${isCut && links.length === 0 ? "at least " : ""}${count(calls)} calls${links.length === 0 ? "" : ":"}`;
}

function ToCall({ link, onMove }: { link: CallLink; onMove: (seq: number) => void }) {
  return (
    <button
      type="button"
      className="go"
      title={`${WORDS[link.name]}, event ${link.seq}`}
      onClick={() => onMove(link.seq)}
    >
      {link.name} {link.seq}
    </button>
  );
}
