// The error of a turn, and its stack with the frames of libraries folded.
import { useState } from "react";

import type { RunError, RunTurn, SourceLine } from "../../api/types";
import { count, duration } from "../../model/format";
import { Copy } from "../../parts/Copy";
import { Long } from "../../parts/Long";
import { Said } from "../../parts/Said";
import { ForkFrom } from "../acts/ForkFrom";
import { Resume } from "../acts/Resume";
import { useOnPage } from "../OnPage";
import { Block } from "./Block";
import { folded } from "./frames";
import styles from "./Raised.module.css";

/** Characters of an error that are shown at first. */
const LONG = 2_000;

export function Raised({ error, turn }: { error: RunError; turn: RunTurn }) {
  const beside = [...new Set(turn.calls.flatMap((call) => call.beside))];
  return (
    <>
      <Block
        label="Raised"
        isBad
        isSame
        of={error.after_ms === null ? undefined : `after ${duration(error.after_ms)}`}
        margin={
          beside.length > 0 && (
            <>
              <p>
                <b>Beside it, when it was raised</b>
              </p>
              <p>
                under way: <Said>{beside.join(", ")}</Said>
              </p>
            </>
          )
        }
      >
        <p className={styles.error}>
          <b>
            <Said>{error.type}</Said>
          </b>
          {error.message !== "" && (
            <>
              : <Long text={error.message} short={LONG} />
            </>
          )}
        </p>
        {error.causes.map((cause, n) => (
          <p key={n} className={styles.cause}>
            because of{" "}
            <b>
              <Said>{cause.type}</Said>
            </b>
            : <Long text={cause.message} short={LONG} />
            {cause.at !== null && (
              <span className="ink-faint">
                {" "}
                <Said>{placeOf(cause.at)}</Said>
              </span>
            )}
          </p>
        ))}
        {error.handled && <p className="sub">It was handled: the run went on.</p>}
      </Block>
      {(error.frames.length > 0 || error.stack !== null) && <Stack error={error} />}
    </>
  );
}

function Stack({ error }: { error: RunError }) {
  const { run } = useOnPage();
  const [isText, setText] = useState(error.frames.length === 0);
  const [shown, setShown] = useState<"resume" | "fork" | null>(null);
  return (
    <Block
      label="Stack"
      id="stack"
      of={error.causes.length > 0 ? "of what came out" : undefined}
      margin={
        <>
          <p>
            <b>To go on from here</b>
          </p>
          <p>
            {run.status !== "running" && run.status !== "completed" && (
              <>
                <button type="button" className="go" onClick={() => setShown("resume")}>
                  Resume
                </button>
                : recorded calls are answered, this one runs again.
                <br />
              </>
            )}
            <button type="button" className="go" onClick={() => setShown("fork")}>
              Fork with a result
            </button>{" "}
            in place of the error.
          </p>
        </>
      }
    >
      <div className={styles.stack} tabIndex={0} role="group" aria-label="Stack">
        {isText ? (
          <pre>
            <Said>{error.stack}</Said>
          </pre>
        ) : (
          <Frames error={error} />
        )}
      </div>
      <p className={styles.acts}>
        {error.stack !== null && error.frames.length > 0 && (
          <button type="button" className="go" aria-expanded={isText} onClick={() => setText(!isText)}>
            {isText ? "by frames" : "as its text"}
          </button>
        )}
        {error.stack !== null && <Copy className="button quiet" text={error.stack} label="Copy" />}
      </p>
      {shown === "resume" && <Resume run={run} verdict={null} onClose={() => setShown(null)} />}
      {shown === "fork" && <ForkFrom run={run.run} at={error.seq} onClose={() => setShown(null)} />}
    </Block>
  );
}

function Frames({ error }: { error: RunError }) {
  const [isAll, setAll] = useState(false);
  const parts = folded(error.frames, isAll);
  return (
    <>
      {parts.map((part, n) =>
        "hidden" in part ? (
          <p key={n}>
            <button type="button" className="go" onClick={() => setAll(true)}>
              {count(part.hidden)} {part.hidden === 1 ? "frame" : "frames"} of libraries
            </button>
          </p>
        ) : (
          <div key={n} className={part.library ? styles.library : undefined}>
            <p className={styles.place}>
              <Said>{placeOf(part)}</Said>
            </p>
            {part.code !== null && (
              <p className={styles.code}>
                <Said>{part.code}</Said>
              </p>
            )}
          </div>
        ),
      )}
      <p className="ink-bad">
        <Long text={error.message === "" ? error.type : `${error.type}: ${error.message}`} short={LONG} />
      </p>
    </>
  );
}

const placeOf = (line: SourceLine): string =>
  [line.file, line.line === null ? null : `line ${line.line}`, line.function === null ? null : `in ${line.function}`]
    .filter((part) => part !== null)
    .join(", ");
