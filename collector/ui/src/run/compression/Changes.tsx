// The context before and after a compression, side by side or in one column; each line of the summary says what it stands for.
import { useState } from "react";

import type { CompressionAudit, Message, RecordedEvent } from "../../api/types";
import { textOf } from "../../compare/outcome";
import { inline, summaryLines } from "../../model/summary";
import { ContentLink } from "../../parts/ContentLink";
import { said } from "../context/Messages";

type Props = {
  audit: CompressionAudit;
  events: readonly RecordedEvent[];
  isInline: boolean;
  onMove: (seq: number) => void;
};
type Before = CompressionAudit["kept"][number];

export function Changes({ audit, events, isInline, onMove }: Props) {
  const [lit, setLit] = useState<readonly number[]>([]);
  const before = new Map(
    [...audit.kept, ...audit.summarised, ...audit.dropped].map((message) => [message.position, message]),
  );
  const line = (position: number) => {
    const message = before.get(position);
    return message === undefined ? null : (
      <Line key={position} message={message} events={events} isLit={lit.includes(position)} onMove={onMove} />
    );
  };
  const summary =
    audit.summary === null || audit.summary === undefined ? (
      <p className="sub">none was written</p>
    ) : (
      <Summary audit={audit} onLight={setLit} />
    );
  if (isInline)
    return (
      <section className="inline" aria-label="Before and after">
        {inline(audit).map((entry) =>
          entry.position === null ? (
            <div key="summary" className="came">
              <b className="ink-tool">+ summary</b>
              {summary}
            </div>
          ) : (
            line(entry.position)
          ),
        )}
      </section>
    );
  return (
    <div className="pair">
      <section aria-label="Before">
        <h2>Before</h2>
        {[...before.keys()].sort((a, b) => a - b).map(line)}
      </section>
      <section aria-label="Summary">
        <h2>Summary</h2>
        {summary}
      </section>
    </div>
  );
}

function Line({
  message,
  events,
  isLit,
  onMove,
}: {
  message: Before;
  events: readonly RecordedEvent[];
  isLit: boolean;
  onMove: (seq: number) => void;
}) {
  const isGone = message.after === null;
  const text = said(events, message.message) ?? (message.value == null ? "" : textOf(message.value as Message));
  return (
    <p className={`change ${isGone ? "" : "sub"} ${isLit ? "lit" : ""}`}>
      <span className="n">{message.position + 1}</span>
      <span>
        <b className={isGone ? "ink-cut" : ""}>
          {isGone ? "− " : "= "}
          {message.role}
        </b>{" "}
        {text}{" "}
        {message.seq !== null && (
          <button type="button" className="go" onClick={() => onMove(message.seq ?? 1)}>
            event {message.seq}
          </button>
        )}{" "}
        <ContentLink target={message.message} />
      </span>
    </p>
  );
}

/** The summary, line by line. Whoever points at one sees the messages that it stands for. */
function Summary({ audit, onLight }: { audit: CompressionAudit; onLight: (positions: readonly number[]) => void }) {
  return (
    <>
      {summaryLines(textOf(audit.summary), audit).map(({ text, positions, facts }, n) => (
        <p
          key={n}
          className="stands"
          tabIndex={positions.length > 0 ? 0 : undefined}
          onPointerEnter={() => onLight(positions)}
          onPointerLeave={() => onLight([])}
          onFocus={() => onLight(positions)}
          onBlur={() => onLight([])}
        >
          {text}{" "}
          <span className="sub">
            {positions.length === 0
              ? "has no fact of the messages that were removed"
              : `stands for ${positions.length === 1 ? "message" : "messages"} ${positions.map((each) => each + 1).join(", ")}: ${facts.join(", ")}`}
          </span>
        </p>
      ))}
    </>
  );
}
