// Two runs beside each other: what they have in common is one line, then their calls in pairs, and what came of it.
import type { ReactNode } from "react";
import { Link, useSearchParams } from "wouter";

import { get } from "../api/client";
import type { CallPair, Comparison, RunDetail, StateAt } from "../api/types";
import { useApi } from "../api/useApi";
import { count, duration, money, shortId } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import { stateRows } from "../run/state/stateRows";
import { differing, moment } from "./aligned";
import { firstDifference } from "./firstDifference";
import { Moment } from "./Moment";
import { textOf } from "./outcome";
import { Tracks } from "./Tracks";

const SHOWN = 500;
/** A sign and a word, so that colour is never the only one. */
const OPS: Record<string, [string, string, string]> = {
  same: ["=", "sub", "equal"],
  changed: ["≠", "ink-state", "changed"],
  only_a: ["−", "ink-cut", "only in the first"],
  only_b: ["+", "ink-tool", "only in the second"],
};

export function ComparePage({ a, b }: { a: string; b: string }) {
  const { data, error } = useApi<Comparison>(`/runs/${encodeURIComponent(a)}/compare/${encodeURIComponent(b)}`, {
    limit: SHOWN,
  });
  const [query, setQuery] = useSearchParams();
  if (error !== null)
    return (
      <main>
        <Failed error={error} isPage />
      </main>
    );
  if (data === null)
    return (
      <main>
        <Loading what="the comparison" />
      </main>
    );
  const isAll = query.get("show") === "all";
  const pairs = isAll ? data.items : data.items.filter((pair) => pair.op !== "same");
  const at = Math.max(0, Math.min(data.items.length - 1, Number(query.get("pair") ?? 1) - 1 || 0));
  const here = moment(data.items, at, data.common);
  const labels = [label(data.a), label(data.b)] as const;
  const move = (n: number) =>
    setQuery(
      (before) => {
        before.set("pair", String(n + 1));
        return before;
      },
      { replace: true },
    );
  const first = (name: string) =>
    void firstDifference(at, (n) => stateDiffers(data, n, name)).then(move, () => undefined);
  const turn = () =>
    setQuery((before) => {
      if (isAll) before.delete("show");
      else before.set("show", "all");
      return before;
    });
  return (
    <main className="page" aria-label="Comparison">
      <div className="head compare-head">
        <h1>
          {data.a.name ?? "run"} <span className="sub">compared with</span> {data.b.name ?? "run"}
        </h1>
        <span>{relation(data)}</span>
      </div>
      <section className="card" aria-label="Where they part">
        <h2>Where they part</h2>
        {data.parts === null ? <span className="sub">They made the same calls.</span> : <Parts data={data} />}
      </section>
      {data.items.length > 0 && (
        <section className="card" aria-label="Both on one axis">
          <h2>
            Both on one axis{" "}
            <span className="sub">
              <kbd>←</kbd> <kbd>→</kbd> move both
            </span>
          </h2>
          <Tracks data={data} at={at} labels={labels} onMove={move} />
          <Moment
            a={{ run: data.a.run, at: here.a }}
            b={{ run: data.b.run, at: here.b }}
            labels={labels}
            onFirst={first}
          />
        </section>
      )}
      <section className="card" aria-label="What came of it">
        <h2>What came of it</h2>
        <Outcome data={data} />
      </section>
      <section className="card" aria-label="Calls">
        <h2>
          Calls: {count(data.counts.same)} equal, {count(data.counts.changed)} changed, {count(data.counts.only_a)} only
          in the first, {count(data.counts.only_b)} only in the second{" "}
          {data.items.some((pair) => pair.op === "same") && (
            <button type="button" className="go" onClick={turn}>
              {isAll ? "hide equal ones" : "show equal ones"}
            </button>
          )}
        </h2>
        <div className="table">
          <table>
            <thead>
              <tr>
                <th>op</th>
                <th>{label(data.a)}</th>
                <th>{label(data.b)}</th>
                <th>what differs</th>
              </tr>
            </thead>
            <tbody>
              {pairs.map((pair, n) => (
                <Pair key={n} pair={pair} a={data.a.run} b={data.b.run} />
              ))}
            </tbody>
          </table>
        </div>
        {data.next_cursor !== null && <p className="sub">The first {count(data.items.length)} pairs are shown.</p>}
      </section>
    </main>
  );
}

/** Whether a row of the states differs after a pair. */
async function stateDiffers(data: Comparison, n: number, name: string): Promise<boolean> {
  const here = moment(data.items, n, data.common);
  const states = await Promise.all(
    [
      [data.a.run, here.a],
      [data.b.run, here.b],
    ].map(([run, at]) => get<StateAt>(`/runs/${run}/state`, { at: at as number, hydrate: true })),
  );
  const [a, b] = states.map(stateRows);
  return differing(a ?? [], b ?? []).some((row) => row.name === name);
}

const label = (run: Comparison["a"]): ReactNode => (
  <>
    {run.name ?? "run"} <code>{shortId(run.run)}</code>
  </>
);

/** In words: which is a fork of which, and how much they share. */
function relation({ a, b, common }: Comparison): ReactNode {
  const fork =
    b.fork_of === a.run ? [shortId(b.run), b.fork_at] : a.fork_of === b.run ? [shortId(a.run), a.fork_at] : null;
  const shared =
    common.shared > 0
      ? `the first ${count(common.shared)} events are the same record`
      : `the first ${count(common.calls)} calls are equal`;
  return (
    <>
      {fork !== null && (
        <>
          <code>{fork[0]}</code> is a fork at event {fork[1]}: recorded up to there, executed again from there.{" "}
        </>
      )}
      {shared[0]?.toUpperCase()}
      {shared.slice(1)}.
    </>
  );
}

function Outcome({ data }: { data: Comparison }) {
  const [a, b] = [
    useApi<RunDetail>(`/runs/${data.a.run}`, {}, true),
    useApi<RunDetail>(`/runs/${data.b.run}`, {}, true),
  ];
  const rows: [string, unknown, unknown][] = [
    ["status", data.outcome.status.a, data.outcome.status.b],
    ["error", data.outcome.error.a, data.outcome.error.b],
    ["answer", data.outcome.answers.a, data.outcome.answers.b],
    ["model calls", data.outcome.llm_calls.a, data.outcome.llm_calls.b],
    ["tool calls", data.outcome.tool_calls.a, data.outcome.tool_calls.b],
    ["tokens in", data.outcome.input_tokens.a, data.outcome.input_tokens.b],
    ["tokens out", data.outcome.output_tokens.a, data.outcome.output_tokens.b],
    ["cost", money(a.data?.cost), money(b.data?.cost)],
    ["context peak", a.data?.context_peak ?? null, b.data?.context_peak ?? null],
    [
      "duration",
      duration(data.outcome.elapsed_ms.a as number | null),
      duration(data.outcome.elapsed_ms.b as number | null),
    ],
  ];
  return (
    <div className="table">
      <table>
        <thead>
          <tr>
            <th>outcome</th>
            <th>{label(data.a)}</th>
            <th>{label(data.b)}</th>
            <th className="r">difference</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, first, second]) => {
            const differs = textOf(first) !== textOf(second);
            return (
              <tr key={name}>
                <td>
                  {differs ? "≠" : "="} {name}
                </td>
                <td>{textOf(first)}</td>
                <td className={differs ? "ink-state" : ""}>{textOf(second)}</td>
                <td className="r">{difference(name, first, second, data)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** How much more or less the second has, with its sign; "" for what is no number, and where there is none. */
function difference(name: string, first: unknown, second: unknown, { outcome }: Comparison): string {
  const [a, b] = name === "duration" ? [outcome.elapsed_ms.a, outcome.elapsed_ms.b] : [first, second];
  if (typeof a !== "number" || typeof b !== "number" || a === b) return "";
  const sign = b > a ? "+" : "−";
  return `${sign}${name === "duration" ? duration(Math.abs(b - a)) : count(Math.abs(b - a))}`;
}

function Parts({ data }: { data: Comparison }) {
  const parts = data.parts;
  if (parts === null) return null;
  return (
    <>
      <p>
        <Side run={data.a.run} call={parts.a} /> <span className="sub">became</span>{" "}
        <Side run={data.b.run} call={parts.b} />, in: {parts.differs.join(", ")}
      </p>
      {parts.changes.map((change) => (
        <div key={change.what} className="parts-change">
          <b>{change.what}</b>
          <pre>
            {change.lines.map((line, n) => (
              <span key={n} className={line.startsWith("+") ? "ink-tool" : line.startsWith("-") ? "ink-cut" : ""}>
                {line.replace(/^[+ -]/, "$& ")}
                {"\n"}
              </span>
            ))}
          </pre>
        </div>
      ))}
    </>
  );
}

function Pair({ pair, a, b }: { pair: CallPair; a: string; b: string }) {
  const [sign, ink, word] = OPS[pair.op] ?? ["?", "", pair.op];
  return (
    <tr>
      <td className={ink}>
        {sign} {word}
      </td>
      <td>
        <Side run={a} call={pair.a} />
      </td>
      <td>
        <Side run={b} call={pair.b} />
      </td>
      <td className="sub">{pair.differs.join(", ")}</td>
    </tr>
  );
}

/** A call, as a link to its moment in its run. */
function Side({ run, call }: { run: string; call: CallPair["a"] }) {
  if (call === null) return <span className="sub">–</span>;
  return (
    <Link className="go" href={`/runs/${run}?at=${call.ended_seq ?? call.seq}`}>
      {call.kind} {call.name ?? ""} {call.status === "failed" ? "(failed) " : ""}at {call.seq}
    </Link>
  );
}
