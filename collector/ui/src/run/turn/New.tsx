// What was new in the context since the last call of this agent, and what had left it.
import { useState } from "react";

import type { NewMessage, RunTurn } from "../../api/types";
import { count } from "../../model/format";
import { kindOf, partText } from "../../model/context";
import { CallLine } from "../../parts/CallLine";
import { MessageView } from "../../parts/MessageView";
import { asMessage } from "../../parts/messageParts";
import { Said } from "../../parts/Said";
import { TurnLink } from "../../parts/TurnLink";
import { Block } from "./Block";
import styles from "./New.module.css";

export function New({ turn, marked = [] }: { turn: RunTurn; marked?: readonly string[] }) {
  const { since, added, dropped, summarised, added_total, dropped_total, summarised_total } = turn.new;
  const lost = [...dropped, ...summarised];
  return (
    <Block
      label="New"
      of={since === null ? "its first call" : `since turn ${since}`}
      margin={
        <p>
          <span className="tag new">+ {count(added_total)} added</span> {count(dropped_total)} dropped,{" "}
          {count(summarised_total)} summarised
        </p>
      }
    >
      {added.length === 0 && <p className="sub">Nothing was added.</p>}
      {added.map((message, n) => (
        <Added key={`${message.message} ${n}`} message={message} marked={marked} />
      ))}
      {added_total > added.length && <p className="sub">and {count(added_total - added.length)} more</p>}
      {lost.map((message, n) => (
        <p key={`${message.message} ${n}`} className={styles.lost}>
          <span className="tag cut">{n < dropped.length ? "− dropped" : "∑ summarised"}</span>{" "}
          <Said>{message.role}</Said>
          {message.seq !== null && (
            <>
              , from <TurnLink seq={message.seq}>event {message.seq}</TurnLink>
            </>
          )}
        </p>
      ))}
    </Block>
  );
}

const LONG = 400;
/** Of longer texts, so many characters are shown at first: what was said matters more than what came back. */
const BEGINNINGS: Readonly<Record<string, number>> = { system: 160, results: 200 };

/** A message of the user as it was said; a result by the call that it answers; the system's is named only. */
function Added({ message, marked }: { message: NewMessage; marked: readonly string[] }) {
  const [isChosen, setWhole] = useState<boolean | null>(null);
  const value = message.value == null ? null : asMessage(message.value);
  const kind = kindOf(message.role);
  const text = value === null ? "" : value.parts.map(partText).join("\n");
  const isLong = text.length > LONG;
  const isWhole = isChosen ?? marked.some((each) => text.includes(each));
  const isFolded = (kind === "system" || isLong) && !isWhole;
  return (
    <div className={`${styles.added} ${styles[kind] ?? ""}`}>
      {message.result_of !== null ? (
        <p className={styles.of}>
          the result of <CallLine call={message.result_of} />
          {message.turn !== null && message.result_of.seq !== null && (
            <>
              {" "}
              at <TurnLink seq={message.result_of.seq}>turn {message.turn}</TurnLink>
            </>
          )}
          {text === "" && value !== null && <span className="ink-faint">: an empty text</span>}
        </p>
      ) : (
        kind !== "user" && (
          <p className={styles.of}>
            <Said>{message.role}</Said>
          </p>
        )
      )}
      {value === null ? (
        <p className="sub">It is not stored: it arrives later, or was masked.</p>
      ) : isFolded ? (
        <p className={styles.text}>
          <Said>{`${text.slice(0, BEGINNINGS[kind] ?? LONG)} …`}</Said>
        </p>
      ) : (
        text !== "" && <MessageView message={value} mode="text" marked={marked} isPlain={!isLong} />
      )}
      {(isLong || kind === "system") && text.length > 160 && (
        <button type="button" className="go" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "less" : `all ${count(text.length)} characters`}
        </button>
      )}
    </div>
  );
}
