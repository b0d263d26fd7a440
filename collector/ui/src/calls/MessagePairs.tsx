// Two contexts in one list: equal messages folded, changed ones word by word.
import { useState } from "react";

import type { Message } from "../api/types";
import { partText } from "../model/context";
import { count } from "../model/format";
import { Said } from "../parts/Said";
import type { MessagePair } from "./callDiff";
import styles from "./CallsPage.module.css";
import { Words } from "./Words";

/** Pairs that are drawn at first, and more with each click. */
const SHOWN = 100;

export function MessagePairs({ pairs }: { pairs: readonly MessagePair[] }) {
  const [shown, setShown] = useState(SHOWN);
  if (pairs.length === 0) return <p className="sub">Neither of them has messages.</p>;
  return (
    <>
      {pairs.slice(0, shown).map((pair, n) => (
        <Pair key={n} pair={pair} />
      ))}
      {pairs.length > shown && (
        <button type="button" className="button" onClick={() => setShown(shown + SHOWN)}>
          {count(pairs.length - shown)} more
        </button>
      )}
    </>
  );
}

function Pair({ pair }: { pair: MessagePair }) {
  switch (pair.op) {
    case "same":
      return <Same messages={pair.messages} />;
    case "changed":
      return (
        <div className={styles.pair}>
          <p className="ink-state">
            ≠ <Said>{pair.a.role}</Said>
          </p>
          <Words a={text(pair.a)} b={text(pair.b)} />
        </div>
      );
    case "only_a":
      return <Only sign="−" ink="ink-cut" message={pair.message} />;
    case "only_b":
      return <Only sign="+" ink="ink-tool" message={pair.message} />;
  }
}

function Same({ messages }: { messages: readonly Message[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className={styles.pair}>
      <button type="button" className="go" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        = {count(messages.length)} equal {messages.length === 1 ? "message" : "messages"}
      </button>
      {isOpen &&
        messages.map((message, n) => (
          <p key={n} className={styles.text}>
            <Said className="sub">{message.role}</Said> <Said>{text(message)}</Said>
          </p>
        ))}
    </div>
  );
}

function Only({ sign, ink, message }: { sign: string; ink: string; message: Message }) {
  return (
    <div className={styles.pair}>
      <p className={ink}>
        {sign} <Said>{message.role}</Said>
      </p>
      <p className={styles.text}>
        <Said>{text(message)}</Said>
      </p>
    </div>
  );
}

const text = (message: Message): string => message.parts.map(partText).join("\n");
