// Both runs at a pair of calls: what was thought, said, called and returned, side by side; state and context on request.
import { useState } from "react";
import { Link } from "wouter";

import { get } from "../api/client";
import type { CallPair, ComparedCall, Comparison, Page, RecordedEvent, RunTurn, StateAt } from "../api/types";
import { useApi } from "../api/useApi";
import { partText } from "../model/context";
import { count } from "../model/format";
import type { Marked } from "../parts/marks";
import { Failed } from "../parts/Notices";
import { Said } from "../parts/Said";
import { runAddress } from "../parts/TurnLink";
import { stateRows } from "../run/state/stateRows";
import { differing, moment, outputOf } from "./aligned";
import { firstDifference } from "./firstDifference";
import { Moment } from "./Moment";
import styles from "./PairDetail.module.css";
import { onlyNamedIn } from "./pairs";
import { type Look, TurnSide } from "./TurnSide";
import { turnsBeside } from "./turnsBeside";

const NONE: readonly Marked[] = [];

/** How the words are marked that only this run has. */
export type Looks = Readonly<Record<"a" | "b", Look>>;

type Props = {
  data: Comparison;
  looks: Looks;
  items: readonly CallPair[];
  at: number;
  onMove: (to: number) => void;
};

export function PairDetail({ data, looks, items, at, onMove }: Props) {
  const [isOpen, setOpen] = useState(false);
  const turns = turnsBeside(items, at);
  const first = useTurns(data.a.run, turns.a);
  const second = useTurns(data.b.run, turns.b);
  const here = moment(items, at, data.common);
  const pair = items[at];
  const [ours, theirs] = [said(first.turns), said(second.turns)];
  const areBoth = ours !== "" && theirs !== "" && !first.isBusy && !second.isBusy;
  const marks = (text: string, other: string) => (areBoth ? onlyIn(text, other) : NONE);
  const states = (name: string) =>
    void firstDifference(at, (n) => stateDiffers(data, items, n, name)).then(onMove, () => undefined);
  return (
    <section className={styles.section} aria-label="Where they part">
      <h2>
        At the pair <span className="num">{place(turns.a, here.a)}</span> |{" "}
        <span className="num">{place(turns.b, here.b)}</span> and after{" "}
        <span className="sub">
          <kbd>↑</kbd> <kbd>↓</kbd> pair · <kbd>n</kbd> next difference
        </span>{" "}
        {pair !== undefined && <CompareCalls data={data} pair={pair} />}
      </h2>
      <div className={styles.beside}>
        <Side
          side="A"
          look={looks.a}
          run={data.a.run}
          at={here.a}
          found={first}
          marked={marks(ours, theirs)}
          call={pair?.a}
        />
        <Side
          side="B"
          look={looks.b}
          run={data.b.run}
          at={here.b}
          found={second}
          marked={marks(theirs, ours)}
          call={pair?.b}
        />
      </div>
      <button type="button" className="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        State and context there
      </button>
      {isOpen && <Moment a={{ run: data.a.run, at: here.a }} b={{ run: data.b.run, at: here.b }} onFirst={states} />}
    </section>
  );
}

/** "7", or of a call that no model asked for its event. */
const place = (turns: readonly number[], seq: number): string =>
  turns[0] === undefined ? `event ${count(seq)}` : count(turns[0]);

/** A link to both calls beside each other, where both are calls of models. */
function CompareCalls({ data, pair }: { data: Comparison; pair: CallPair }) {
  if (pair.a?.kind !== "llm" || pair.b?.kind !== "llm") return null;
  return (
    <Link className="go" href={`/calls?a=${data.a.run}:${pair.a.seq}&b=${data.b.run}:${pair.b.seq}`}>
      all that differs in these two calls
    </Link>
  );
}

type Found = { turns: readonly RunTurn[]; isBusy: boolean; error: ReturnType<typeof useApi>["error"] };

/** At most three turns of a run, which are fixed once they have ended. */
function useTurns(run: string, numbers: readonly number[]): Found {
  const path = (n: number) => (numbers[n] === undefined ? null : `/runs/${run}/turns/${numbers[n]}`);
  const asked = [
    useApi<RunTurn>(path(0), {}, true),
    useApi<RunTurn>(path(1), {}, true),
    useApi<RunTurn>(path(2), {}, true),
  ];
  return {
    turns: asked.flatMap(({ data, isStale }, n) => (data === null || isStale || path(n) === null ? [] : [data])),
    isBusy: asked.some(({ data, error, isStale }, n) => path(n) !== null && (isStale || (data ?? error) === null)),
    error: asked.find(({ error }) => error !== null)?.error ?? null,
  };
}

/** All that the turns answered, as one text, to tell which numbers and names only one of the runs has. */
const said = (turns: readonly RunTurn[]): string =>
  turns
    .flatMap((turn) => ((turn.answer?.parts ?? []) as { type: string }[]).filter((part) => part.type === "text"))
    .map(partText)
    .join("\n");

const onlyIn = (text: string, other: string): Marked[] => onlyNamedIn(text, other).map((whole) => ({ whole }));

type SideProps = {
  side: "A" | "B";
  look: Look;
  run: string;
  at: number;
  found: Found;
  marked: readonly Marked[];
  call: ComparedCall | null | undefined;
};

function Side({ side, look, run, at, found, marked, call }: SideProps) {
  return (
    <div className={styles.side} role="group" aria-label={`Run ${side} there`} aria-busy={found.isBusy}>
      <p className="sub">
        {side} ·{" "}
        <Link className="go" href={runAddress(run, call?.seq ?? at)}>
          event {count(call?.seq ?? at)}
        </Link>
        {call === null && " · no call of its own here"}
      </p>
      {found.error !== null && <Failed error={found.error} what="the turn" />}
      {found.turns.map((turn) => (
        <TurnSide key={turn.number} turn={turn} marked={marked} look={look} />
      ))}
      {found.turns.length === 0 && !found.isBusy && found.error === null && call != null && (
        <CodeCall run={run} call={call} />
      )}
    </div>
  );
}

/** Characters of a result that are shown. */
const OUTPUT = 600;

/** A call that no model asked for, and what it gave. */
function CodeCall({ run, call }: { run: string; call: ComparedCall }) {
  const { data } = useApi<Page<RecordedEvent>>(
    call.ended_seq === null ? null : `/runs/${run}/events`,
    { after: (call.ended_seq ?? 1) - 1, limit: 1, preview: OUTPUT },
    true,
  );
  return (
    <p>
      <code>
        <Said>{call.shown}</Said>
      </code>{" "}
      →{" "}
      <Said className={call.did === "failed" ? "ink-bad" : ""}>
        {call.ended_seq === null ? "not returned yet" : (outputOf(data?.items[0]) ?? "")}
      </Said>
    </p>
  );
}

/** Whether a row of the states differs after a pair. */
async function stateDiffers(data: Comparison, items: readonly CallPair[], n: number, name: string): Promise<boolean> {
  const here = moment(items, n, data.common);
  const states = await Promise.all([
    get<StateAt>(`/runs/${data.a.run}/state`, { at: here.a, hydrate: true }),
    get<StateAt>(`/runs/${data.b.run}/state`, { at: here.b, hydrate: true }),
  ]);
  return differing(stateRows(states[0]), stateRows(states[1])).some((row) => row.name === name);
}
