// Each message before a compression with what became of it, and beside it what the model got.
import { useMemo, useState, type ReactNode } from "react";

import type { CompressionAudit, Message, RunTurn } from "../../api/types";
import { inkOf, kindOf } from "../../model/context";
import { count } from "../../model/format";
import { Markdown } from "../../parts/Markdown";
import { MessageView } from "../../parts/MessageView";
import { Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { useOnPage } from "../OnPage";
import styles from "./Compression.module.css";
import { type AfterLine, type FateLine, fateLines } from "./fates";

/** Messages that are shown at first, before and after. */
const LINES = 120;
const AFTER = 40;

type Props = {
  audit: CompressionAudit;
  turn: RunTurn;
  /** The messages that the model got, and the same as lines; null: not yet loaded. */
  after: readonly (Message | null)[] | null;
  got: readonly AfterLine[] | null;
};

export function BeforeAfter({ audit, turn, after, got }: Props) {
  const lines = useMemo(() => fateLines(audit, after ?? []), [audit, after]);
  const saved = useMemo(
    () =>
      audit.preserved
        .filter((fact) => fact.kept_in.some((place) => place.where === "summary"))
        .map((fact) => fact.text),
    [audit],
  );
  return (
    <section className={styles.sides} aria-label="Before and after">
      <div className={styles.label}>
        <b>Before, after</b> message by message
      </div>
      <div>
        <h3>
          Before{" "}
          <span>
            {count(audit.messages.before)} messages
            {turn.new.since !== null && `, seen at turn ${turn.new.since} with its answer`}
          </span>
        </h3>
        <Limited items={lines} most={LINES} what="messages">
          {(line) => <Fate key={line.from} line={line} />}
        </Limited>
      </div>
      <div>
        <h3>
          After{" "}
          <span>
            {after !== null && `${count(after.length)} messages, `}seen at turn {turn.number}
          </span>
        </h3>
        {got === null ? (
          <Loading what="what the model got" />
        ) : (
          <Limited items={got} most={AFTER} what="messages">
            {(line) => <After key={line.place} line={line} saved={saved} summarised={audit.messages.summarised} />}
          </Limited>
        )}
        {saved.length > 0 && (
          <p className="sub">
            <span className={styles.kept}>underlined</span>: facts that the summary saved, {count(saved.length)} of{" "}
            {count(audit.preserved_total)} saved in all
          </p>
        )}
      </div>
    </section>
  );
}

function Limited<Item>({
  items,
  most,
  what,
  children,
}: {
  items: readonly Item[];
  most: number;
  what: string;
  children: (item: Item) => ReactNode;
}) {
  const [isWhole, setWhole] = useState(false);
  return (
    <>
      {(isWhole ? items : items.slice(0, most)).map(children)}
      {items.length > most && !isWhole && (
        <button type="button" className="go" onClick={() => setWhole(true)}>
          all {count(items.length)} {what}
        </button>
      )}
    </>
  );
}

const FATES: Readonly<Record<FateLine["fate"], string>> = { "=": "kept", "∑": "summarised", "−": "dropped" };
const SHOWN = 160;

function Fate({ line }: { line: FateLine }) {
  const { go } = useOnPage();
  const said = line.text === null ? null : line.text.slice(0, SHOWN);
  return (
    <div className={line.fate === "=" ? styles.fate : `${styles.fate ?? ""} ${styles.went ?? ""}`}>
      <span className={styles.mark} title={FATES[line.fate]}>
        <span aria-hidden="true">{line.fate}</span>
        <span className="visually-hidden">{FATES[line.fate]}</span>
      </span>
      <span className={styles.place}>{line.from === line.to ? line.from : `${line.from}–${line.to}`}</span>
      <button
        type="button"
        className={styles.words}
        disabled={line.seq === null}
        onClick={() => line.seq !== null && go(line.seq)}
      >
        {line.call !== null ? (
          <code>
            <Said className="ink-tool">{line.call.name}</Said>
            <Said>{`(${line.call.shown.slice(0, 60)})`}</Said>
          </code>
        ) : (
          kindOf(line.role) === "system" && (
            <b className="ink-state">
              <Said>{line.role}</Said>{" "}
            </b>
          )
        )}
        {line.call !== null && line.text !== null && (
          <span className="ink-faint">
            {" "}
            → <Said>{resultSaid(line.text)}</Said>
          </span>
        )}
        {line.call === null &&
          (said === null ? <span className="sub">not stored</span> : <Said className={inkOf(line.role)}>{said}</Said>)}
      </button>
      <span className={styles.losses}>
        {line.tags.map((tag) => (
          <span key={tag} className="tag" title="a tag that the program gave it">
            <Said>{tag}</Said>
          </span>
        ))}{" "}
        {line.preserved && (
          <span className="tag good" title="no compression removes it">
            preserved
          </span>
        )}{" "}
        {line.lost > 0 && `${count(line.lost)} lost`} {line.needed > 0 && <b>{count(line.needed)} needed</b>}
      </span>
    </div>
  );
}

const SHORT = 24;
const resultSaid = (text: string): string =>
  text === "" ? "an empty text" : text.length <= SHORT ? text : `${count(text.length)} characters`;

const WAS: Readonly<Record<AfterLine["was"], string>> = {
  kept: "kept, unchanged",
  moved: "kept, in another place",
  summary: "in the place of messages that went",
  new: "new",
};

function After({ line, saved, summarised }: { line: AfterLine; saved: readonly string[]; summarised: number }) {
  const { message, was, place } = line;
  const isSummary = was === "summary";
  return (
    <div className={styles.after}>
      <p className={styles.head}>
        <b>{isSummary ? "summary" : (message?.role ?? "?")}</b>
        {isSummary
          ? `in the place of ${count(summarised)} ${summarised === 1 ? "message" : "messages"}${message === null ? "" : `, as the ${message.role}’s`}`
          : WAS[was]}
        <span className={styles.number}>{place}</span>
      </p>
      {isSummary && message !== null ? (
        <div className={styles.summary}>
          <Underlined message={message} saved={saved} />
        </div>
      ) : (
        kindOf(message?.role ?? "") !== "system" && <Short message={message} />
      )}
    </div>
  );
}

/** The summary with the facts that it saved underlined. */
function Underlined({ message, saved }: { message: Message; saved: readonly string[] }) {
  const text = message.parts.flatMap((part) => (part.type === "text" ? [String(part.content ?? "")] : [])).join("\n");
  return text === "" ? (
    <MessageView message={message} isPlain />
  ) : (
    <div className={styles.marks}>
      <Markdown text={text} marked={saved} />
    </div>
  );
}

const LONG = 400;

function Short({ message }: { message: Message | null }) {
  const [isWhole, setWhole] = useState(false);
  const length = message === null ? 0 : JSON.stringify(message.parts).length;
  return (
    <div className={styles.text}>
      <div className={isWhole || length <= LONG ? undefined : styles.short}>
        <MessageView message={message} mode="text" isPlain />
      </div>
      {length > LONG && (
        <button type="button" className="go" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "less" : "all of it"}
        </button>
      )}
    </div>
  );
}
