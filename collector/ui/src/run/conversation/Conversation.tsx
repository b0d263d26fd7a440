// The run as the user and the agent saw it: what was said, the tool work between as one line, findings beside the words.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";

import type { Message, TurnRow } from "../../api/types";
import { count, duration } from "../../model/format";
import { CallLine } from "../../parts/CallLine";
import { MessageView } from "../../parts/MessageView";
import { Failed } from "../../parts/Notices";
import { Rank } from "../../parts/Rank";
import { Said } from "../../parts/Said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { useOnPage } from "../OnPage";
import styles from "./Conversation.module.css";
import { SHOW_WORK } from "./signals";
import { clock, placeOf, type Talk, talkOf } from "./talk";
import { type Messages, useMessages } from "./useMessages";

const ROW_PX = 70;

export function Conversation({ at, turn, onFind }: { at: number; turn: TurnRow | undefined; onFind: () => void }) {
  const { run, rows, news, lastAnswer } = useOnPage();
  const talk = useMemo(() => talkOf(rows, lastAnswer), [rows, lastAnswer]);
  const messages = useMessages(run.run, news);
  const [isAllWork, setAllWork] = useState(false);
  const [isSystem, setSystem] = useState(false);
  useEffect(() => {
    const turnOver = () => setAllWork((before) => !before);
    window.addEventListener(SHOW_WORK, turnOver);
    return () => window.removeEventListener(SHOW_WORK, turnOver);
  }, []);
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: talk.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
    initialRect: { width: 900, height: 700 },
  });
  const current = placeOf(talk, turn);
  useEffect(() => {
    if (current >= 0) list.scrollToIndex(current, { align: "center" });
  }, [current, list]);
  return (
    <div ref={box} className={styles.conversation} tabIndex={0} role="region" aria-label="Conversation">
      <div className={styles.column}>
        <div className={styles.bar}>
          <b>Conversation</b> {describe(talk)}
          <span className={styles.right}>
            <label>
              <input type="checkbox" checked={isAllWork} onChange={(event) => setAllWork(event.target.checked)} /> all
              tool work
            </label>
            <label>
              <input type="checkbox" checked={isSystem} onChange={(event) => setSystem(event.target.checked)} /> system
              prompt
            </label>
            <button type="button" className="button quiet" onClick={onFind}>
              Find <kbd>f</kbd>
            </button>
          </span>
        </div>
        {messages.error !== null && <Failed error={messages.error} what="the messages" />}
        {isSystem && messages.system !== null && (
          <Line who="System" ink="ink-state">
            <MessageView message={messages.system} mode="text" />
          </Line>
        )}
        <div style={{ height: list.getTotalSize() }} className={styles.lines}>
          {list.getVirtualItems().map((item) => {
            const each = talk[item.index];
            return each === undefined ? null : (
              <div
                key={item.key}
                ref={list.measureElement}
                data-index={item.index}
                className={styles.place}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <Item each={each} messages={messages} isAt={item.index === current && at > 0} isAllWork={isAllWork} />
              </div>
            );
          })}
        </div>
        {talk.length === 0 && <p className="notice">Nothing was said in this run that was recorded.</p>}
      </div>
    </div>
  );
}

function describe(talk: readonly Talk[]): string {
  const of = (kind: Talk["kind"]) => talk.filter((each) => each.kind === kind).length;
  const calls = talk.reduce((sum, each) => sum + (each.kind === "work" ? each.calls.length : 0), 0);
  const many = (n: number, one: string) => `${count(n)} ${n === 1 ? one : `${one}s`}`;
  return `${many(of("user"), "message")} of the user, ${many(of("answer"), "answer")}, ${many(calls, "tool call")} between`;
}

function Item({
  each,
  messages,
  isAt,
  isAllWork,
}: {
  each: Talk;
  messages: Messages;
  isAt: boolean;
  isAllWork: boolean;
}) {
  switch (each.kind) {
    case "user":
      return (
        <Line who="User" ink="ink-user" when={clock(each.row.started_ms)}>
          <div className={styles.user}>
            <Words text={each.row.text} message={messages.said.get(each.row.seq)} mode="text" />
          </div>
        </Line>
      );
    case "answer":
      return (
        <Line
          who="Agent"
          ink="ink-model"
          isAt={isAt}
          when={
            <>
              <TurnLink seq={each.row.seq}>turn {each.row.turn}</TurnLink> · {duration(each.row.elapsed_ms)}
            </>
          }
          margin={<Findings turn={each.row.turn} />}
        >
          <div className={styles.model}>
            <Words text={each.row.text} message={messages.answers.get(each.row.seq)} mode="markdown" />
          </div>
        </Line>
      );
    case "work":
      return <Work work={each} isAt={isAt} isAllWork={isAllWork} />;
    case "cut":
      return (
        <Line who="">
          <p className={styles.cut}>
            ∑ <Said>{each.row.text ?? "messages left the context"}</Said>{" "}
            <TurnLink seq={each.row.seq}>event {each.row.seq}</TurnLink>
          </p>
        </Line>
      );
    case "wait":
      return (
        <Line who="">
          <p className="ink-state">
            ◐ {each.row.status === "open" ? "waits" : "waited"}: <Said>{each.row.text ?? ""}</Said>
          </p>
        </Line>
      );
  }
}

/** The whole message once it is there; until then, and where it is not stored, its beginning. */
function Words({
  text,
  message,
  mode,
}: {
  text: string | null;
  message: Message | null | undefined;
  mode: "text" | "markdown";
}) {
  if (message == null) return <Said>{text ?? "…"}</Said>;
  const said = {
    ...message,
    parts: message.parts.filter((part) => part.type !== "tool_call" && part.type !== "reasoning"),
  };
  return <MessageView message={said} mode={mode} isPlain />;
}

type LineProps = {
  who: string;
  ink?: string;
  when?: ReactNode;
  margin?: ReactNode;
  isAt?: boolean;
  children: ReactNode;
};

function Line({ who, ink = "", when, margin, isAt = false, children }: LineProps) {
  return (
    <div className={isAt ? `${styles.line} ${styles.at}` : styles.line}>
      <div className={styles.when}>
        <b className={ink}>{who}</b>
        <span>{when}</span>
      </div>
      <div className={styles.what}>{children}</div>
      <div className={styles.margin}>{margin}</div>
    </div>
  );
}

/** What speaks against a turn, at the height of its words. */
function Findings({ turn }: { turn: number | null }) {
  const { suspects } = useOnPage();
  const suspect = suspects?.items.find((each) => each.turn === turn);
  if (suspect === undefined) return null;
  return (
    <>
      {suspect.findings.map((finding, n) => (
        <p key={n}>
          {n === 0 && (
            <>
              <Rank as={suspect.rank === 1 ? "suspect" : "evidence"}>{suspect.rank}</Rank>{" "}
            </>
          )}
          <Strength word={finding.strength} /> <Said>{finding.reason}</Said>
        </p>
      ))}
    </>
  );
}

type WorkProps = { work: Extract<Talk, { kind: "work" }>; isAt: boolean; isAllWork: boolean };

/** Open from the start where a finding rests on it. */
function Work({ work, isAt, isAllWork }: WorkProps) {
  const { marks, suspects } = useOnPage();
  const marked = work.rows.map((row) => marks.get(row.turn ?? -1)).find((mark) => mark !== undefined);
  const [chosen, setChosen] = useState<boolean | null>(null);
  const isOpen = chosen ?? (isAllWork || marked !== undefined);
  const suspected = work.rows.find((row) => suspects?.items.some((each) => each.turn === row.turn));
  return (
    <div className={isAt ? `${styles.line} ${styles.work} ${styles.at}` : `${styles.line} ${styles.work}`}>
      <div className={styles.when} />
      <div className={styles.what}>
        <button type="button" className={styles.summary} aria-expanded={isOpen} onClick={() => setChosen(!isOpen)}>
          <span aria-hidden="true" className="ink-faint">
            {isOpen ? "▾" : "▸"}
          </span>{" "}
          <span className={styles.calls}>
            {count(work.calls.length)} {work.calls.length === 1 ? "tool call" : "tool calls"}
          </span>{" "}
          {!isOpen && (
            <code className={styles.names}>
              <Said>{work.calls.map(({ call }) => call.name).join(" · ")}</Said>
            </code>
          )}
          {marked !== undefined && <Rank as={marked.isSuspect ? "suspect" : "weak"}>{marked.rank}</Rank>}
          <span className={styles.ms}>{duration(work.ms)}</span>
        </button>
        {isOpen &&
          work.calls.map(({ call, turn, seq }, n) => (
            <p key={n} className={styles.call}>
              <TurnLink seq={seq}>{turn === null ? `event ${seq}` : `turn ${turn}`}</TurnLink> <CallLine call={call} />
              <span className={styles.ms}>{duration(call.elapsed_ms)}</span>
            </p>
          ))}
      </div>
      <div className={styles.margin}>{suspected !== undefined && <Findings turn={suspected.turn} />}</div>
    </div>
  );
}
