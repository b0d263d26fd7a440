// The error that came out of a run: what was raised, where, because of what, what it went through, what it cost.
import type { RunError, RunVerdict, SourceLine } from "../../api/types";
import { duration } from "../../model/format";
import { plainLine } from "../../model/plainLine";
import { Long } from "../../parts/Long";
import { Said } from "../../parts/Said";
import { TurnLink } from "../../parts/TurnLink";
import styles from "./ErrorChain.module.css";

/** Characters of an error that are shown at first. */
const SHORT = 400;

export function ErrorChain({ error, verdict }: { error: RunError; verdict: RunVerdict }) {
  const lost = verdict.agents.filter((agent) => agent.status === "completed" && agent.text !== null);
  return (
    <div className={styles.crash}>
      <p className={styles.what}>
        {error.call !== null && (
          <>
            <code>
              <Said>{nameOf(error.call)}</Said>
            </code>{" "}
            raised{" "}
          </>
        )}
        <b className="ink-bad">
          <Long text={error.message === "" ? error.type : `${error.type}: ${error.message}`} short={SHORT} />
        </b>
      </p>
      <dl className={styles.chain}>
        <dt>at</dt>
        <dd>
          <TurnLink seq={error.seq}>{error.turn === null ? `event ${error.seq}` : `turn ${error.turn}`}</TurnLink>{" "}
          {error.call !== null && (
            <code className="ink-tool">
              <Said>{error.call}</Said>
            </code>
          )}
          {error.after_ms !== null && <>, {duration(error.after_ms)} after it was called</>}{" "}
          {error.at !== null && <Line at={error.at} />}
        </dd>
        {error.causes.length > 0 && (
          <>
            <dt>because</dt>
            <dd>
              {error.causes.map((cause, n) => (
                <span key={n}>
                  {n > 0 && ", of which came "}
                  <code>
                    <Long text={`${cause.type}: ${cause.message}`} short={SHORT} />
                  </code>{" "}
                  {cause.at !== null && <Line at={cause.at} />}
                </span>
              ))}
            </dd>
          </>
        )}
        {error.went_through.length > 0 && (
          <>
            <dt>went up</dt>
            <dd>
              <code>
                <Said>{wayUp(error).join(" → ")}</Said>
              </code>
              {error.handled ? ", where it was handled." : ". Nobody caught it."}
            </dd>
          </>
        )}
        {lost.length > 0 && (
          <>
            <dt>lost</dt>
            <dd>
              {lost.map((agent) => (
                <p key={`${agent.group} ${agent.seq}`}>
                  <b>
                    <Said>{agent.name ?? "an agent"}</Said>
                  </b>{" "}
                  <span className="ink-good">finished</span>
                  {agent.elapsed_ms !== null && ` after ${duration(agent.elapsed_ms)}`}: “
                  <Said>{plainLine(agent.text ?? "")}</Said>”{" "}
                  <TurnLink seq={agent.seq}>
                    {agent.turn === null ? `event ${agent.seq}` : `turn ${agent.turn}`}
                  </TurnLink>
                </p>
              ))}
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

function Line({ at }: { at: SourceLine }) {
  return (
    <span className="ink-faint">
      <Said>
        {[
          shortFile(at.file),
          at.line === null ? null : `line ${at.line}`,
          at.function === null ? null : `in ${at.function}`,
        ]
          .filter((part) => part !== null)
          .join(", ")}
      </Said>
    </span>
  );
}

/** The names of what the error went through, from where it was raised; a step in a step of the same name is said once. */
const wayUp = (error: RunError): string[] =>
  [error.call === null ? null : nameOf(error.call), ...error.went_through.map((step) => step.name)]
    .filter((name) => name !== null)
    .filter((name, n, names) => name !== names[n - 1]);

const nameOf = (call: string): string => call.replace(/\(.*$/s, "");
const shortFile = (file: string): string => file.split(/[/\\]/).at(-1) ?? file;
