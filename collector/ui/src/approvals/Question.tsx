// What is asked, and what it would do: a change as − and +, other arguments by name, all of it as JSON.
import { useState } from "react";

import type { WaitedFor } from "../api/types";
import { compact } from "../model/format";
import { Copy } from "../parts/Copy";
import { Said } from "../parts/Said";
import styles from "./Approvals.module.css";
import { type ChangedLine, changeIn } from "./whatItDoes";

/** A value beyond this is shown after a click. */
const LONG = 1500;

/** The question in one line: "May it run `edit_file` on `shop/prices.py`?", or what the program asked. */
export function QuestionLine({ asked }: { asked: WaitedFor }) {
  const { kind, name, action, details } = asked;
  if (kind === "approval" && name !== null && (action === null || [name, `run ${name}`].includes(action))) {
    const on = subject(details);
    return (
      <>
        May it run{" "}
        <code className="ink-tool">
          <Said>{name}</Said>
        </code>
        {on !== null && (
          <>
            {" "}
            on{" "}
            <code>
              <Said>{on}</Said>
            </code>
          </>
        )}
        ?
      </>
    );
  }
  return <Said>{action ?? name ?? asked.key}</Said>;
}

/** What a call is about: the one short text among its arguments that names something. */
function subject(details: unknown): string | null {
  if (typeof details !== "object" || details === null || Array.isArray(details)) return null;
  for (const name of ["path", "file", "file_path", "filename", "url", "id", "name", "table"]) {
    const value = (details as Record<string, unknown>)[name];
    if (typeof value === "string" && value.length <= 80) return value;
  }
  return null;
}

/** What it would do, from the details that the program gave. */
export function WhatItDoes({ asked }: { asked: WaitedFor }) {
  const [isJson, setJson] = useState(false);
  const { details } = asked;
  if (details === null || details === undefined) return <Digest asked={asked} />;
  const change = changeIn(details);
  const others = change === null ? argumentsOf(details) : change.others;
  return (
    <div className={styles.does}>
      {isJson ? (
        <FoldedText
          text={typeof details === "string" ? details : JSON.stringify(details, null, 2)}
          label="Details as JSON"
        />
      ) : (
        <>
          {change !== null && <ChangeLines lines={change.lines} />}
          {others !== null && others.length > 0 && (
            <dl className={styles.arguments} aria-label="Details">
              {others.map(([name, value]) => (
                <div key={name}>
                  <dt>
                    <Said>{name}</Said>
                  </dt>
                  <dd>
                    <FoldedText text={typeof value === "string" ? value : compact(value)} />
                  </dd>
                </div>
              ))}
            </dl>
          )}
          {others === null && (
            <FoldedText text={typeof details === "string" ? details : compact(details)} label="Details" />
          )}
        </>
      )}
      <p className="sub">
        <button type="button" className="go" aria-pressed={isJson} onClick={() => setJson(!isJson)}>
          {isJson ? "As arguments" : "JSON"}
        </button>{" "}
        · <Digest asked={asked} />
      </p>
    </div>
  );
}

const argumentsOf = (details: unknown): [string, unknown][] | null =>
  typeof details === "object" && details !== null && !Array.isArray(details) ? Object.entries(details) : null;

/** A change as lines: those that go, then those that come; the words that differ are marked. */
export function ChangeLines({ lines }: { lines: readonly ChangedLine[] }) {
  return (
    <div className={styles.diff} role="group" aria-label="The change">
      {lines.map((line, n) => (
        <div key={n} className={line.sign === "-" ? styles.goes : line.sign === "+" ? styles.comes : ""}>
          <span className={styles.sign}>{line.sign === "-" ? "−" : line.sign}</span>
          <code>
            {line.words.map((word, k) =>
              !word.isChanged ? (
                <Said key={k}>{word.text}</Said>
              ) : line.sign === "-" ? (
                <del key={k}>
                  <Said>{word.text}</Said>
                </del>
              ) : (
                <ins key={k}>
                  <Said>{word.text}</Said>
                </ins>
              ),
            )}
          </code>
        </div>
      ))}
    </div>
  );
}

function FoldedText({ text, label }: { text: string; label?: string }) {
  const name = label === undefined ? {} : { "aria-label": label, role: "group" };
  if (text.length <= LONG)
    return (
      <pre {...name}>
        <Said>{text}</Said>
      </pre>
    );
  return (
    <details>
      <summary>
        <Said>{text.slice(0, 120)}</Said> … <span className="sub">show all {text.length} characters</span>
      </summary>
      <pre {...name}>
        <Said>{text}</Said>
      </pre>
    </details>
  );
}

/** An answer stands for exactly this request. */
function Digest({ asked }: { asked: WaitedFor }) {
  return (
    <span className="sub" title="An answer holds for nothing else.">
      stands for exactly this request,{" "}
      <Copy
        className="go num"
        text={asked.id}
        title={`Copy ${asked.id}`}
        label={`${asked.id.slice(0, 8)}…${asked.id.slice(-6)}`}
      />
    </span>
  );
}
