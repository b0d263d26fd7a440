// What differs between two runs after an aligned pair of calls: in the state, and in what the model saw.
import type { ContextAt, Message, StateAt } from "../api/types";
import { useApi } from "../api/useApi";
import { count } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import { Said } from "../parts/Said";
import { stateRows } from "../run/state/stateRows";
import { commonMessages, differing, saying } from "./aligned";
import styles from "./Moment.module.css";

/** Messages of each context that are shown after the common ones, and characters of each. */
const SHOWN = 8;
const LONGEST = 600;

type Side = { run: string; at: number };

/** `onFirst` finds the first pair after which a row of the states differs, and goes there. */
type Props = { a: Side; b: Side; onFirst: (name: string) => void };

export function Moment({ a, b, onFirst }: Props) {
  return (
    <div className={styles.moment}>
      <States a={a} b={b} onFirst={onFirst} />
      <Contexts a={a} b={b} />
    </div>
  );
}

const useStateAt = ({ run, at }: Side) => useApi<StateAt>(`/runs/${run}/state`, { at, hydrate: true }, true);

function States({ a, b, onFirst }: Props) {
  const [first, second] = [useStateAt(a), useStateAt(b)];
  const error = first.error ?? second.error;
  if (error !== null) return <Failed error={error} what="the states" />;
  if (first.data === null || second.data === null) return <Loading what="both states" />;
  const rows = differing(stateRows(first.data), stateRows(second.data));
  if (rows.length === 0) return <p className="sub">Their states are equal.</p>;
  return (
    <div className={styles.scroll}>
      <table aria-label="States">
        <thead>
          <tr>
            <th>state</th>
            <th>A</th>
            <th>B</th>
            <th>
              <span className="visually-hidden">first difference</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td>
                ≠ <Said>{row.name}</Said>
              </td>
              <td>
                <code>
                  <Said>{row.a}</Said>
                </code>
              </td>
              <td>
                <code>
                  <Said>{row.b}</Said>
                </code>
              </td>
              <td>
                <button
                  type="button"
                  className="go"
                  title="Go to the first pair after which this differs"
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
  if (error != null) return <Failed error={error} what="the contexts" />;
  if ((first.data ?? first.error) === null || (second.data ?? second.error) === null)
    return <Loading what="both contexts" />;
  const mine = (first.data?.messages ?? []) as Message[];
  const theirs = (second.data?.messages ?? []) as Message[];
  const common = commonMessages(mine, theirs);
  if (common === mine.length && common === theirs.length)
    return (
      <p className="sub">
        {common === 0 ? "No model was called up to here." : `What the model saw last is equal: ${messages(common)}.`}
      </p>
    );
  return (
    <>
      <p className="sub">
        What the model saw last:{" "}
        {common === 0 ? "no message at the beginning is equal" : `the first ${messages(common)} are equal`}, then:
      </p>
      <div className={styles.beside}>
        <Rest label="Context of A" sign="−" ink="ink-cut" messages={mine.slice(common)} />
        <Rest label="Context of B" sign="+" ink="ink-tool" messages={theirs.slice(common)} />
      </div>
    </>
  );
}

const messages = (n: number): string => `${count(n)} ${n === 1 ? "message" : "messages"}`;

type RestProps = { label: string; sign: string; ink: string; messages: readonly Message[] };

function Rest({ label, sign, ink, messages: rest }: RestProps) {
  return (
    <div aria-label={label} role="group">
      {rest.slice(0, SHOWN).map((message, n) => (
        <p key={n} className={ink}>
          {sign} <Said>{saying(message).slice(0, LONGEST)}</Said>
        </p>
      ))}
      {rest.length > SHOWN && <p className="sub">and {count(rest.length - SHOWN)} further messages</p>}
    </div>
  );
}
