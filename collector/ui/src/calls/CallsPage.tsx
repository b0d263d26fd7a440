// Two calls of models beside each other, of one run or of two: what they saw, with what settings, and what they answered.
import { Link, useSearchParams } from "wouter";

import type { ContextAt, Message, ThreadMessages } from "../api/types";
import { useApi } from "../api/useApi";
import { partText } from "../model/context";
import { count, shortId } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import { Said } from "../parts/Said";
import { runAddress } from "../parts/TurnLink";
import { alignedMessages, callSentence, type CallPlace, changedSettings, changedTools, readPlace } from "./callDiff";
import styles from "./CallsPage.module.css";
import { ChooseCall } from "./ChooseCall";
import { MessagePairs } from "./MessagePairs";
import { Words } from "./Words";

export function CallsPage() {
  const [query] = useSearchParams();
  const [a, b] = [readPlace(query.get("a")), readPlace(query.get("b"))];
  if (a === null)
    return (
      <main className="page notice" aria-label="Two calls">
        <h1>Two calls beside each other</h1>
        Open a turn of a run, and choose “Compare with …” there.
      </main>
    );
  if (b === null)
    return (
      <main className={`page ${styles.page ?? ""}`} aria-label="Two calls">
        <ChooseCall a={a} />
      </main>
    );
  return <Both a={a} b={b} />;
}

const useContext = ({ run, seq }: CallPlace) => useApi<ContextAt>(`/runs/${run}/context`, { at: seq }, true);

/** The last message of the thread that a call's answer ended; null: there is none, or it is not there yet. */
function useAnswer(context: ContextAt | null) {
  const thread = (context?.call.refs as { output_thread?: string } | undefined)?.output_thread;
  const { data, error } = useApi<ThreadMessages>(
    thread === undefined ? null : `/content/${thread}`,
    { as: "messages" },
    true,
  );
  return {
    answer: data?.messages.at(-1) ?? null,
    isThere: context !== null && (thread === undefined || data !== null || error !== null),
  };
}

function Both({ a, b }: { a: CallPlace; b: CallPlace }) {
  const [first, second] = [useContext(a), useContext(b)];
  const [ours, theirs] = [useAnswer(first.data), useAnswer(second.data)];
  const error = first.error ?? second.error;
  return (
    <main className={`page ${styles.page ?? ""}`} aria-label="Two calls">
      {error !== null ? (
        <Failed error={error} isPage what="a call" />
      ) : first.data === null || second.data === null || !ours.isThere || !theirs.isThere ? (
        <Loading what="both calls" />
      ) : (
        <Differences places={[a, b]} a={first.data} b={second.data} answers={[ours.answer, theirs.answer]} />
      )}
    </main>
  );
}

type Props = {
  places: readonly [CallPlace, CallPlace];
  a: ContextAt;
  b: ContextAt;
  answers: readonly [Message | null, Message | null];
};

function Differences({ places, a, b, answers }: Props) {
  const pairs = alignedMessages(withSystem(a), withSystem(b));
  const settings = changedSettings(a.settings, b.settings);
  const tools = changedTools(a.tools, b.tools);
  const said = answers.map(textOf);
  const parts = {
    model: a.call.model !== b.call.model,
    settings: settings.length,
    tools: tools.length,
    messages: pairs.filter((pair) => pair.op !== "same").length,
    answer: said[0] !== said[1],
  };
  return (
    <>
      <div className={styles.head}>
        <h1>{callSentence(parts)}</h1>
      </div>
      <div className={styles.runs}>
        <CallHead side="A" place={places[0]} context={a} />
        <CallHead side="B" place={places[1]} context={b} />
      </div>
      {(settings.length > 0 || tools.length > 0) && (
        <section className={styles.section} aria-label="Settings and tools">
          <h2>Settings and tools</h2>
          {settings.map((each) => (
            <p key={each.name}>
              ≠ <Said>{each.name}</Said>:{" "}
              <code className="ink-cut">
                <Said>{each.a}</Said>
              </code>{" "}
              in A,{" "}
              <code className="ink-tool">
                <Said>{each.b}</Said>
              </code>{" "}
              in B
            </p>
          ))}
          {tools.map((tool) => (
            <p key={tool.name}>
              {tool.op === "only_a" ? "−" : tool.op === "only_b" ? "+" : "≠"} tool{" "}
              <code>
                <Said>{tool.name}</Said>
              </code>{" "}
              {tool.op === "only_a" ? "only in A" : tool.op === "only_b" ? "only in B" : "has another definition"}
            </p>
          ))}
        </section>
      )}
      <section className={styles.section} aria-label="What they saw">
        <h2>
          What they saw{" "}
          <span className="sub">
            <span className="ink-cut">− only in A</span> <span className="ink-tool">+ only in B</span>
          </span>
        </h2>
        <MessagePairs pairs={pairs} />
      </section>
      <section className={styles.section} aria-label="What they answered">
        <h2>What they answered</h2>
        {said[0] === said[1] ? (
          <p className={styles.text}>
            = <Said>{said[0]}</Said>
          </p>
        ) : (
          <Words a={said[0] ?? ""} b={said[1] ?? ""} />
        )}
      </section>
    </>
  );
}

/** The context with its system prompt as the first message, where it stands beside them. */
function withSystem({ system, messages }: ContextAt): Message[] {
  const all = messages as Message[];
  if (system === null || system === undefined) return all;
  const content = typeof system === "string" ? system : JSON.stringify(system);
  return [{ role: "system", parts: [{ type: "text", content }] }, ...all];
}

const textOf = (message: Message | null): string => message?.parts.map(partText).join("\n") ?? "nothing";

function CallHead({ side, place, context }: { side: string; place: CallPlace; context: ContextAt }) {
  const { call, messages } = context;
  return (
    <section className={styles.call} aria-label={`Call ${side}`}>
      <h2>
        {side} ·{" "}
        <Link className="go" href={runAddress(place.run, call.seq)}>
          event {count(call.seq)} of <code>{shortId(place.run)}</code>
        </Link>{" "}
        <Said className="ink-model">{call.model ?? "model"}</Said>
      </h2>
      <p>
        {count(messages.length)} messages
        {context.context_tokens === null ? "" : ` · ${count(context.context_tokens)} tokens`}
        {call.actor === null || call.actor === undefined ? "" : " · by "}
        <Said>{call.actor ?? ""}</Said>
      </p>
    </section>
  );
}
