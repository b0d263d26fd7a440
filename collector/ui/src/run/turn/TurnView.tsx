// One turn, from top to bottom: what the model saw, what was new, what it answered and called, what came back and followed.
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";

import type { RunHit, RunTurn, TurnRow } from "../../api/types";
import { useApi } from "../../api/useApi";
import { count, duration, money } from "../../model/format";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { ForkFrom } from "../acts/ForkFrom";
import { Compression } from "../compression/Compression";
import { NotesBlock } from "../notes/NotesBlock";
import { runPath, useOnPage } from "../OnPage";
import { turnBeside } from "../turns/rows";
import { useRested } from "../useRested";
import { Answered } from "./Answered";
import { Called } from "./Called";
import { EventBlock } from "./EventBlock";
import { New } from "./New";
import { Raised } from "./Raised";
import { Thoughts, Why } from "./Reasons";
import { Saw } from "./Saw";
import { StateBlock } from "./StateBlock";
import { Then } from "./Then";
import styles from "./TurnView.module.css";
import { useTurn } from "./useTurn";

/** The playhead stands still for so long before the turn is asked for. */
const REST_MS = 90;

/** A place that was found, and the text as it is written there. */
export type ShownHit = { hit: RunHit; marked: readonly string[] };

type Props = { at: number; turn: TurnRow | undefined; isEmpty: boolean; hit: ShownHit | null };

export function TurnView({ at, turn, isEmpty, hit }: Props) {
  const { run, news } = useOnPage();
  const box = useRef<HTMLDivElement>(null);
  const number = useRested(turn?.turn ?? null, REST_MS);
  const { data, error, again } = useTurn(run.run, number, turn, news);
  const shown = data?.number;
  useEffect(() => {
    if (shown === undefined) return;
    const mark = hit === null ? null : box.current?.querySelector("article mark");
    if (mark != null) mark.scrollIntoView({ block: "center" });
    else box.current?.scrollTo({ top: 0 });
  }, [shown, hit]);
  return (
    <div ref={box} className={styles.turn} tabIndex={0} role="region" aria-label="The turn">
      {isEmpty ? (
        <NoTurns at={at} />
      ) : data === null ? (
        error === null ? (
          <Loading what="the turn" />
        ) : (
          <Failed error={error} what="the turn" onAgain={again} />
        )
      ) : (
        <article key={data.number} aria-label={`Turn ${data.number}`} aria-busy={data.number !== turn?.turn}>
          <TurnHead turn={data} at={at} />
          <div className={styles.body}>
            <Blocks turn={data} at={at} hit={hit} />
          </div>
        </article>
      )}
    </div>
  );
}

const NOTHING: readonly string[] = [];

function Blocks({ turn, at, hit }: { turn: RunTurn; at: number; hit: ShownHit | null }) {
  const { suspects } = useOnPage();
  const suspect = suspects?.items.find((each) => each.turn === turn.number);
  const marked = hit?.marked ?? NOTHING;
  const error = turn.error ?? turn.calls.find((call) => call.raised !== null)?.raised ?? null;
  return (
    <>
      {turn.new.compression !== null ? (
        <Compression seq={turn.new.compression} turn={turn} />
      ) : (
        <>
          <Saw turn={turn} marked={hit?.hit.where === "system" ? marked : NOTHING} />
          <New turn={turn} marked={marked} />
        </>
      )}
      <Thoughts turn={turn} />
      <Answered turn={turn} suspect={suspect} marked={marked} />
      {turn.calls.map((call, n) => (
        <Called key={call.call_id ?? call.seq ?? n} call={call} turn={turn} suspect={suspect} marked={marked} />
      ))}
      {error !== null && <Raised error={error} turn={turn} />}
      <Why turn={turn} />
      <Then turn={turn} />
      <StateBlock turn={turn} />
      <NotesBlock turn={turn} />
      <EventBlock turn={turn} at={at} />
    </>
  );
}

function TurnHead({ turn, at }: { turn: RunTurn; at: number }) {
  const { run, turns, lastAnswer, go } = useOnPage();
  const [isForking, setForking] = useState(false);
  const step = (by: 1 | -1) => {
    const to = turnBeside(turns, at, by);
    if (to !== undefined) go(to.seq);
  };
  const isOpen = turn.ended_seq === null;
  return (
    <header className={styles.head}>
      <div className={styles.title}>
        <h2>
          <Said className="ink-model">{turn.model ?? "model"}</Said> <span className="ink-faint">→</span>{" "}
          <Said>{whatOf(turn, lastAnswer?.turn === turn.number)}</Said>
        </h2>
        <p className={styles.facts}>
          turn {count(turn.number)} of {count(turn.total)}
          {turn.agent !== null && turns.some((row) => row.agent !== turn.agent) && (
            <>
              {" "}
              · <Said>{turn.agent}</Said>
            </>
          )}{" "}
          · {isOpen ? "under way" : duration(turn.elapsed_ms)}
          {turn.usage.input_tokens !== undefined && (
            <>
              {" "}
              · <span className="num">{count(turn.usage.input_tokens)}</span> →{" "}
              <span className="num">{count(turn.usage.output_tokens ?? 0)}</span> tokens
            </>
          )}
          {turn.cost !== null && <> · {money(turn.cost)}</>} · event {count(turn.seq)}
        </p>
      </div>
      <div className={styles.acts}>
        {isOpen ? (
          <button type="button" className={`button ${styles.wide}`} disabled>
            Edit and ask again
          </button>
        ) : (
          <Link className={`button ${styles.wide}`} href={`/runs/${run.run}/ask/${turn.number}`}>
            Edit and ask again
          </Link>
        )}
        <button
          type="button"
          className={`button main ${styles.wide}`}
          disabled={isOpen}
          onClick={() => setForking(true)}
        >
          Fork from here
        </button>
        <button type="button" className={styles.step} aria-label="Previous turn" onClick={() => step(-1)}>
          ‹
        </button>
        <button type="button" className={styles.step} aria-label="Next turn" onClick={() => step(1)}>
          ›
        </button>
      </div>
      {isForking && <ForkFrom run={run.run} at={turn.ended_seq ?? turn.seq} onClose={() => setForking(false)} />}
    </header>
  );
}

/** The calls of a turn, or whom it spoke to. */
function whatOf(turn: RunTurn, isLast: boolean): string {
  if (turn.calls.length > 0)
    return turn.calls.map(({ name, shown }) => (shown.startsWith(`${name}(`) ? shown : `${name}(${shown})`)).join(", ");
  if (turn.status === "failed") return "no answer";
  if (turn.ended_seq === null) return "…";
  return turn.to === "user" || isLast ? "the user" : "its answer";
}

/** A run without a model call: its events are all there is. */
function NoTurns({ at }: { at: number }) {
  const { run } = useOnPage();
  const { data } = useApi<{ error: { type: string; message: string } | null }>(`${runPath(run.run)}`, {}, false);
  return (
    <div className={styles.body}>
      <p className="notice">No model call was recorded in this run.</p>
      {data?.error != null && (
        <p className="ink-bad">
          <Said>{`${data.error.type}: ${data.error.message}`}</Said>
        </p>
      )}
      <EventBlock turn={null} at={at} />
    </div>
  );
}
