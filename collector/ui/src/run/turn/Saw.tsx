// What the model saw: a bar of its context by kind; opened, the whole of it in order, as it was sent.
import { useEffect, useState } from "react";

import type { ContextAt, Message, Part, RunTurn, SeenContext } from "../../api/types";
import { useApi } from "../../api/useApi";
import { count, percent } from "../../model/format";
import { inkOf, kindOf, messageTokens, partText, toolNames } from "../../model/context";
import { ContextBar, ContextLegend } from "../../parts/ContextBar";
import { MessageView } from "../../parts/MessageView";
import { asMessage } from "../../parts/messageParts";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { runPath, useOnPage } from "../OnPage";
import { TokenBasis } from "../TokenBasis";
import { Block } from "./Block";
import styles from "./Saw.module.css";
import { OPEN_CONTEXT } from "./signals";

export function Saw({ turn, marked }: { turn: RunTurn; marked: readonly string[] }) {
  const [isOpen, setOpen] = useState(marked.length > 0);
  useEffect(() => {
    if (marked.length > 0) setOpen(true);
  }, [marked]);
  useEffect(() => {
    const turnOver = () => setOpen((before) => !before);
    window.addEventListener(OPEN_CONTEXT, turnOver);
    return () => window.removeEventListener(OPEN_CONTEXT, turnOver);
  }, []);
  const { saw } = turn;
  const newest = turn.new.added.every((message) => kindOf(message.role) === "results") ? "results" : "user";
  return (
    <Block
      label="Saw"
      of={`${count(saw.messages)} ${saw.messages === 1 ? "message" : "messages"}`}
      margin={<About saw={saw} />}
    >
      <button type="button" className={styles.summary} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ContextBar parts={saw.parts} newest={newest} isEstimated={isEstimated(saw)} />
        <span className={styles.legend}>
          <span>
            <span className="ink-faint" aria-hidden="true">
              {isOpen ? "▾" : "▸"}
            </span>{" "}
            {saw.tokens === null ? (
              "tokens not known"
            ) : (
              <>
                <b className="num">
                  <TokenBasis basis={saw.basis} />
                  {count(saw.tokens)}
                </b>{" "}
                tokens
                {saw.limit !== null &&
                  `, ${percent(saw.tokens / saw.limit)} of ${count(Math.round(saw.limit / 1000))}k`}
              </>
            )}
          </span>{" "}
          <ContextLegend parts={saw.parts} newest={newest} />
        </span>
      </button>
      {isOpen && <WholeContext turn={turn} marked={marked} />}
    </Block>
  );
}

const isEstimated = (saw: SeenContext): boolean => saw.parts_basis !== "reported" && saw.parts_basis !== "counted";

function About({ saw }: { saw: SeenContext }) {
  const said = [
    isEstimated(saw) && saw.parts.length > 0 ? "sizes of parts are estimates" : null,
    saw.cached === null || saw.cached === 0 ? null : `${count(saw.cached)} from the provider’s cache`,
    saw.complete ? null : "the provider keeps a part of the context that is not in the record",
  ].filter((part) => part !== null);
  return said.length === 0 ? null : <p>{said.join(" · ")}</p>;
}

function WholeContext({ turn, marked }: { turn: RunTurn; marked: readonly string[] }) {
  const { run } = useOnPage();
  const { data, error, again } = useApi<ContextAt>(
    `${runPath(run.run)}/context`,
    { at: turn.seq },
    turn.ended_seq !== null,
  );
  if (error !== null) return <Failed error={error} what="the context" onAgain={again} />;
  if (data === null) return <Loading what="the context" />;
  const messages = [...systemOf(data.system), ...data.messages].map((each) => asMessage(each));
  const known = messages.filter((each) => each !== null);
  const { each: sizes, tools } = messageTokens(known, data.tools, data.context_tokens, turn.saw.parts);
  const names = toolNames(data.tools);
  let place = -1;
  return (
    <ol className={styles.messages} aria-label="The context in order">
      {names.length > 0 && (
        <li className={styles.message}>
          <span className={styles.number} />
          <b className={styles.who}>tools</b>
          <details className={styles.text}>
            <summary>
              <Said>{names.join(", ")}</Said>
            </summary>
            <pre>
              <Said>{JSON.stringify(data.tools, null, 2)}</Said>
            </pre>
          </details>
          <span className={styles.size}>~{count(tools)}</span>
        </li>
      )}
      {messages.map((message, n) => {
        if (message !== null) place += 1;
        return (
          <OneMessage
            key={n}
            number={n + 1}
            message={message}
            tokens={message === null ? null : (sizes[place] ?? null)}
            marked={marked}
          />
        );
      })}
      {data.missing.length > 0 && (
        <li className="sub">
          {count(data.missing.length)} contents are not stored: they arrive later, or were masked.
        </li>
      )}
    </ol>
  );
}

/** Instructions that stand apart from the messages, as a message. */
function systemOf(system: unknown): unknown[] {
  if (system === null || system === undefined || system === "") return [];
  if (asMessage(system) !== null) return [system];
  const parts: Part[] = Array.isArray(system)
    ? system.filter((part): part is Part => typeof part === "object" && part !== null && "type" in part)
    : [{ type: "text", content: typeof system === "string" ? system : JSON.stringify(system) }];
  return parts.length === 0 ? [] : [{ role: "system", parts } satisfies Message];
}

const LONG = 600;
const WHO: Readonly<Record<string, string>> = { results: "result" };

/** Whether a message has one of these texts. */
const isIn = (marked: readonly string[], message: Message | null): boolean =>
  message !== null && marked.some((text) => message.parts.some((part) => partText(part).includes(text)));

type OneProps = { number: number; message: Message | null; tokens: number | null; marked: readonly string[] };

function OneMessage({ number, message, tokens, marked }: OneProps) {
  const length = message === null ? 0 : JSON.stringify(message.parts).length;
  const [isWhole, setWhole] = useState(length <= LONG || isIn(marked, message));
  return (
    <li className={styles.message}>
      <span className={styles.number}>{number}</span>
      <b className={`${styles.who} ${message === null ? "" : inkOf(message.role)}`}>
        <Said>{message === null ? "?" : (WHO[kindOf(message.role)] ?? message.role)}</Said>
      </b>
      <div className={styles.text}>
        <div className={isWhole ? undefined : styles.cut}>
          <MessageView message={message} mode="text" marked={marked} isPlain={!isWhole || length <= LONG} />
        </div>
        {length > LONG && (
          <button type="button" className="go" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "less" : `all ${count(length)} characters`}
          </button>
        )}
      </div>
      <span className={styles.size}>{tokens === null ? "" : `~${count(tokens)}`}</span>
    </li>
  );
}
