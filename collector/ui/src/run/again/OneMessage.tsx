import { useState } from "react";

import { inkOf } from "../../model/context";
import { Said } from "../../parts/Said";
import styles from "./AskPage.module.css";
import { brief, type ChatMessage, editable } from "./edits";

type MessageProps = {
  message: ChatMessage;
  /** The text that a person wrote in its place; null: none. */
  text: string | null;
  onText: (text: string) => void;
  /** It is the one that is to be edited: open, with the cursor in it. */
  isWanted?: boolean;
};

/** A message as a line that opens; its text can be changed, and taken back. */
export function OneMessage({ message, text, onText, isWanted = false }: MessageProps) {
  const [isOpen, setOpen] = useState(isWanted);
  const recorded = editable(message);
  const isChanged = text !== null && text !== recorded.text;
  return (
    <div className={isChanged ? `${styles.message} ${styles.changed}` : styles.message}>
      <button type="button" className={styles.summary} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span aria-hidden="true" className="ink-faint">
          {isOpen ? "▾" : "▸"}
        </span>{" "}
        <b className={inkOf(recorded.role)}>
          <Said>{recorded.role}</Said>
        </b>{" "}
        <span className={styles.brief}>{isChanged ? "changed" : <Said>{brief(message)}</Said>}</span>
      </button>
      {isOpen && (
        <>
          <textarea
            className={styles.text}
            aria-label={`${recorded.role} message`}
            rows={Math.min(16, Math.max(3, (text ?? recorded.text).split("\n").length + 1))}
            value={text ?? recorded.text}
            autoFocus={isWanted}
            onChange={(event) => onText(event.target.value)}
          />
          {isChanged && (
            <p className={styles.back}>
              <button type="button" className="go" onClick={() => onText(recorded.text)}>
                as recorded
              </button>
            </p>
          )}
        </>
      )}
    </div>
  );
}
