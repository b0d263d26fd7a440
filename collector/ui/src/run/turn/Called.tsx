// A tool call of a turn: a line per argument with where its value comes from, and what came back.
import { useState } from "react";

import type { RunTurn, Suspect, TurnArgument, TurnCall, TurnRow } from "../../api/types";
import { compact, count, duration } from "../../model/format";
import { ContentLink } from "../../parts/ContentLink";
import { MarkedText } from "../../parts/MarkedText";
import { Said } from "../../parts/Said";
import { saidPlainly } from "../../parts/said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { useOnPage } from "../OnPage";
import { turnOfSameAgent } from "../turns/rows";
import { Block } from "./Block";
import styles from "./Called.module.css";
import { Evidence } from "./Evidence";
import { findingsOfCalls } from "./evidence";
import { doubt, originText } from "./origins";
import { prettyJson } from "./prettyJson";

type Props = { call: TurnCall; turn: RunTurn; suspect: Suspect | undefined; marked: readonly string[] };

export function Called({ call, turn, suspect, marked }: Props) {
  const { rows } = useOnPage();
  const isMade = call.seq !== null;
  const waits = call.promise !== null || (!isMade && isAsked(rows, turn));
  const findings = turn.calls[0] === call ? findingsOfCalls(turn, suspect) : [];
  return (
    <>
      <Block
        label={isMade ? "Called" : "Asked for"}
        of={waits ? "not run yet" : isMade ? undefined : "not run"}
        isHot={findings.length > 0}
        rows={
          <>
            {call.arguments.length > 0 && (
              <dl className={styles.args}>
                {call.arguments.map((argument) => (
                  <Argument key={argument.path} argument={argument} turn={turn.number} marked={marked} />
                ))}
              </dl>
            )}
            {suspect !== undefined && findings.length > 0 && (
              <div className={styles.evidence}>
                <Evidence suspect={suspect} findings={findings} beside={null} />
              </div>
            )}
          </>
        }
      >
        <p className={styles.call}>
          <Said className="ink-tool">{call.name}</Said>
          {waits && <span className="tag state">waits for approval</span>}
          {call.writes === true && <span className="tag">changes something</span>}
          {call.reason !== null && call.reason !== turn.choice?.reason && (
            <span className={styles.because}>
              , because <Said>{call.reason}</Said> {call.strength !== null && <Strength word={call.strength} />}
            </span>
          )}
        </p>
      </Block>
      <Came call={call} marked={marked} />
    </>
  );
}

/** Whether the run waits for an answer since this turn, before it makes the turn's calls. */
const isAsked = (rows: readonly TurnRow[], turn: RunTurn): boolean =>
  turn.number === turn.total &&
  rows.some((row) => row.kind === "wait" && row.status === "open" && row.seq > (turn.ended_seq ?? turn.seq));

type ArgumentProps = { argument: TurnArgument; turn: number; marked: readonly string[] };

function Argument({ argument, turn, marked }: ArgumentProps) {
  const { origin, path, value } = argument;
  const isDoubtful = origin !== null && origin.suspect;
  const text = compact(value);
  const words = origin === null || !isDoubtful ? [] : origin.unfounded;
  return (
    <div className={styles.arg}>
      <dt>
        <Said>{path}</Said>
      </dt>
      <dd>
        <span className={isDoubtful && words.length === 0 ? styles.doubtful : undefined}>
          <MarkedText text={text} marked={[...words, ...marked]} />
        </span>
      </dd>
      <dd className={styles.origin}>{origin !== null && <Origin argument={argument} turn={turn} />}</dd>
    </div>
  );
}

/** Where the value was read, with its words there, and a tag where it is doubtful. */
function Origin({ argument, turn }: { argument: TurnArgument; turn: number }) {
  const { turns } = useOnPage();
  const origin = argument.origin;
  if (origin === null) return null;
  const why = doubt(origin);
  const place = origin.evidence[0] ?? origin.first;
  const where = place?.seq == null ? undefined : turnOfSameAgent(turns, place.seq, turn);
  return (
    <>
      {why !== null && (
        <>
          <span className="tag bad" title={saidPlainly(origin.note)}>
            <Said>{why}</Said>
          </span>{" "}
        </>
      )}
      <span title={saidPlainly(`${origin.rule}: ${origin.note}`)}>{originText(origin)}</span>
      {place !== null && place !== undefined && (
        <>
          {place.seq !== null && (
            <>
              ,{" "}
              <TurnLink seq={where?.seq ?? place.seq}>
                {place.source === "user" || where === undefined ? "there" : `turn ${where.turn ?? "?"}`}
              </TurnLink>
            </>
          )}{" "}
          “<Said>{place.quote}</Said>”
        </>
      )}
      {origin.literals.some((literal) => literal.source === "invented") && (
        <>
          {" "}
          new in it:{" "}
          <code>
            <Said>
              {origin.literals
                .filter((literal) => literal.source === "invented")
                .map((literal) => literal.text)
                .join(", ")}
            </Said>
          </code>
        </>
      )}
    </>
  );
}

/** A result of more lines is folded. */
const LINES = 14;

function Came({ call, marked }: { call: TurnCall; marked: readonly string[] }) {
  const [isChosen, setWhole] = useState<boolean | null>(null);
  if (call.status === "failed" || call.seq === null) return null; // the error has a block of its own
  const of = call.elapsed_ms === null ? undefined : `after ${duration(call.elapsed_ms)}`;
  const margin = call.beside.length > 0 && (
    <p>
      under way beside it: <Said>{call.beside.join(", ")}</Said>
    </p>
  );
  if (call.status === "open")
    return (
      <Block label="Under way" isSame>
        <span className="bones" role="status" aria-label="The result is awaited">
          <i />
          <i />
        </span>
      </Block>
    );
  if (call.result_text === null)
    return (
      <Block label="Got back" of={of} margin={margin} isSame>
        <p className="sub">{call.missing ? "The result is not stored: it arrives later, or was masked." : "nothing"}</p>
      </Block>
    );
  const text = prettyJson(call.result_text);
  const lines = text.split("\n");
  const isLong = lines.length > LINES || text.length > 1500;
  const isWhole = isChosen ?? marked.some((each) => text.includes(each));
  const shown = isLong && !isWhole ? lines.slice(0, LINES).join("\n").slice(0, 1500) : text;
  return (
    <Block label="Got back" of={of} margin={margin} isSame>
      <div className={styles.result}>
        <pre>
          {text === "" ? <span className="ink-faint">an empty text</span> : <MarkedText text={shown} marked={marked} />}
        </pre>
        {isLong && (
          <button type="button" className="go" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "less" : `all ${count(lines.length)} lines`}
          </button>
        )}{" "}
        {call.result !== null && (call.result_length ?? 0) > call.result_text.length && (
          <span className="sub">
            the first {count(call.result_text.length)} of {count(call.result_length ?? 0)} characters,{" "}
            <ContentLink target={call.result}>all of it</ContentLink>
          </span>
        )}
      </div>
    </Block>
  );
}
