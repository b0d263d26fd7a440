// What differs between two runs after an aligned pair of calls: in the state, and in what the model saw.
import type { ReactNode } from "react";
import { Link } from "wouter";

import type { ContextAt, Message, Page, RecordedEvent, StateAt } from "../api/types";
import { useApi } from "../api/useApi";
import { count } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import { stateRows } from "../run/state/stateRows";
import { commonMessages, differing, outputOf, saying } from "./aligned";

/** Messages of each context that are shown after the common ones. */
const SHOWN = 8;

type Side = { run: string; at: number };

/** `onFirst` finds the first pair after which a row of the states differs, and goes there. */
type Props = { a: Side; b: Side; labels: readonly [ReactNode, ReactNode]; onFirst: (name: string) => void };

export function Moment({ a, b, labels, onFirst }: Props) {
  return (
    <div className="moment">
      <p className="sub">
        After{" "}
        <Link className="go" href={`/runs/${a.run}?at=${a.at}`}>
          event {a.at}
        </Link>{" "}
        of {labels[0]} and{" "}
        <Link className="go" href={`/runs/${b.run}?at=${b.at}`}>
          event {b.at}
        </Link>{" "}
        of {labels[1]}:
      </p>
      <Outputs a={a} b={b} />
      <States a={a} b={b} labels={labels} onFirst={onFirst} />
      <Contexts a={a} b={b} />
    </div>
  );
}

/** Characters of an output that are shown. */
const OUTPUT = 600;
const useOutput = ({ run, at }: Side) =>
  useApi<Page<RecordedEvent>>(`/runs/${run}/events`, { after: at - 1, limit: 2, preview: OUTPUT }, true);

/** What the calls of the pair gave: a result, an answer, or an error. */
function Outputs({ a, b }: { a: Side; b: Side }) {
  const [first, second] = [useOutput(a), useOutput(b)];
  const [mine, theirs] = [outputOf(first.data?.items ?? []), outputOf(second.data?.items ?? [])];
  if (mine === null && theirs === null) return null;
  if (mine === theirs) return <p className="sub">Both gave the same: {mine}</p>;
  return (
    <>
      <p className="sub">What both calls gave:</p>
      <div className="pair">
        <div aria-label="Output of the first" role="group">
          <p className="ink-cut">− {mine ?? "nothing yet"}</p>
        </div>
        <div aria-label="Output of the second" role="group">
          <p className="ink-tool">+ {theirs ?? "nothing yet"}</p>
        </div>
      </div>
    </>
  );
}

const useStateAt = ({ run, at }: Side) => useApi<StateAt>(`/runs/${run}/state`, { at, hydrate: true }, true);

function States({ a, b, labels, onFirst }: Props) {
  const [first, second] = [useStateAt(a), useStateAt(b)];
  const error = first.error ?? second.error;
  if (error !== null) return <Failed error={error} />;
  if (first.data === null || second.data === null) return <Loading what="both states" />;
  const rows = differing(stateRows(first.data), stateRows(second.data));
  if (rows.length === 0) return <p className="sub">Their states are equal.</p>;
  return (
    <div className="table">
      <table aria-label="States">
        <thead>
          <tr>
            <th>state</th>
            <th>{labels[0]}</th>
            <th>{labels[1]}</th>
            <th>
              <span className="visually-hidden">first difference</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td>≠ {row.name}</td>
              <td className="wide">
                <code>{row.a}</code>
              </td>
              <td className="wide ink-state">
                <code>{row.b}</code>
              </td>
              <td>
                <button
                  type="button"
                  className="go"
                  title="Go to the first step after which this differs"
                  onClick={() => onFirst(row.name)}
                >
                  first difference
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const useContextAt = ({ run, at }: Side) => useApi<ContextAt>(`/runs/${run}/context`, { at }, true);

function Contexts({ a, b }: { a: Side; b: Side }) {
  const [first, second] = [useContextAt(a), useContextAt(b)];
  const error = [first.error, second.error].find((each) => each !== null && each.status !== 404);
  if (error != null) return <Failed error={error} />;
  if ((first.data ?? first.error) === null || (second.data ?? second.error) === null)
    return <Loading what="both contexts" />;
  const mine = (first.data?.messages ?? []) as Message[];
  const theirs = (second.data?.messages ?? []) as Message[];
  const common = commonMessages(mine, theirs);
  if (common === mine.length && common === theirs.length)
    return (
      <p className="sub">
        {common === 0
          ? "No model was called up to here."
          : `What the model saw last is equal: ${count(common)} ${common === 1 ? "message" : "messages"}.`}
      </p>
    );
  return (
    <>
      <p className="sub">
        What the model saw last: the first {count(common)} {common === 1 ? "message is" : "messages are"} equal, then:
      </p>
      <div className="pair">
        <div aria-label="Context of the first" role="group">
          {mine.slice(common, common + SHOWN).map((message, n) => (
            <p key={n} className="ink-cut">
              − {saying(message).slice(0, 600)}
            </p>
          ))}
          <More rest={mine.length - common - SHOWN} />
        </div>
        <div aria-label="Context of the second" role="group">
          {theirs.slice(common, common + SHOWN).map((message, n) => (
            <p key={n} className="ink-tool">
              + {saying(message).slice(0, 600)}
            </p>
          ))}
          <More rest={theirs.length - common - SHOWN} />
        </div>
      </div>
    </>
  );
}

const More = ({ rest }: { rest: number }) =>
  rest > 0 ? <p className="sub">and {count(rest)} further messages</p> : null;
