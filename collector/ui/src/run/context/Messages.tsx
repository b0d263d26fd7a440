// The messages of a context, the tools before them, and what was dropped since the call before behind them.
import { Fragment, useEffect, useRef } from "react";

import type { Message, RecordedEvent } from "../../api/types";
import { inkOf, kindOf, partText, toolNames } from "../../model/context";
import { count } from "../../model/format";
import { ContentLink } from "../../parts/ContentLink";
import { SameMessage, type Shown, useLookedAt } from "./SameMessage";

const LONG = 1200;

/** The beginning of a message, from the event that brought it. */
export function said(events: readonly RecordedEvent[], message: string): string | null {
  return events.find((event) => event.refs.message === message)?.previews?.message ?? null;
}

type RowProps = {
  n: number;
  message: Message;
  tokens: number;
  mark: string | null;
  isLit: boolean;
  isChosen: boolean;
  target: string | undefined;
  /** The event with which the message came into the run; null: not known. */
  since: number | null;
  shown: Shown;
  onMove: (seq: number) => void;
};

/** A message; who looks at it sees where the same one was. */
export function Row({ n, message, tokens, mark, isLit, isChosen, target, since, shown, onMove }: RowProps) {
  const { isLookedAt, handlers } = useLookedAt();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isLit) box.current?.scrollIntoView({ block: "nearest" });
  }, [isLit]);
  const kind = kindOf(message.role);
  return (
    <div
      ref={box}
      data-kind={kind}
      className={`msg ${mark === null ? "" : "new"} ${isLit ? "lit" : ""} ${isChosen ? "chosen" : ""}`}
      {...handlers}
    >
      <span className="w">{n}</span>
      <span className={`who ${inkOf(message.role)}`}>{message.role}</span>
      <span className="said">
        {message.parts.map((part, k) => (
          <Fragment key={k}>
            {k > 0 && "\n"}
            <Said text={partText(part)} isCode={part.type !== "text"} />
          </Fragment>
        ))}
        {mark !== null && <span className="tag new">{mark}</span>}
      </span>
      <span className="tk">
        <span title="tokens, estimated from the call's count">{count(tokens)}</span>
        {target !== undefined && <ContentLink target={target} />}
      </span>
      {isLookedAt && target !== undefined && (
        <SameMessage target={target} since={since} shown={shown} onMove={onMove} />
      )}
    </div>
  );
}

/** The definitions of tools, folded to their names. */
export function Tools({ tools, tokens, isChosen }: { tools: unknown; tokens: number; isChosen: boolean }) {
  const names = toolNames(tools);
  if (names.length === 0) return null;
  return (
    <div data-kind="tools" className={`msg ${isChosen ? "chosen" : ""}`}>
      <span className="w" />
      <span className="who">tools</span>
      <span className="said">
        <details>
          <summary>
            <code>{names.join(", ")}</code>
          </summary>
          <pre>{JSON.stringify(tools, null, 2)}</pre>
        </details>
      </span>
      <span className="tk">
        <span title="tokens, estimated from the call's count">{count(tokens)}</span>
      </span>
    </div>
  );
}

/** A long text is cut, and says so. */
function Said({ text, isCode }: { text: string; isCode: boolean }) {
  const body =
    text.length <= LONG ? (
      text
    ) : (
      <details>
        <summary>
          {text.slice(0, LONG)} … <span className="sub">{count(text.length)} characters</span>
        </summary>
        {text.slice(LONG)}
      </details>
    );
  return isCode ? <code>{body}</code> : <>{body}</>;
}
