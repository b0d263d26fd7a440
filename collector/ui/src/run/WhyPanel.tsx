// Why this step: where each argument's value was said, the decision it belongs to, and what else was open.
import { Link } from "wouter";

import type { Attribution, ContextQuote, DecisionDetail, RecordedEvent, ValueOrigin } from "../api/types";
import { useApi } from "../api/useApi";
import { argumentsText } from "../model/context";
import { compact, count } from "../model/format";
import { ContentLink } from "../parts/ContentLink";
import { Empty, Failed, Loading } from "../parts/Notices";

type Props = {
  run: string;
  events: readonly RecordedEvent[];
  at: number;
  onMove: (seq: number) => void;
  onLight: (content: string | null) => void;
};

/** The tool call or decision that the playhead's event belongs to. */
export function subject(
  events: readonly RecordedEvent[],
  at: number,
): { tool: number | null; decision: number | null } {
  const here = events[at - 1];
  if (here === undefined) return { tool: null, decision: null };
  if (here.kind.startsWith("tool_")) {
    for (let n = at - 1; n >= 0; n--)
      if (events[n]?.kind === "tool_called" && events[n]?.span === here.span) return { tool: n + 1, decision: null };
  }
  if (here.kind === "llm_completed" || here.kind === "llm_called") return { tool: null, decision: at };
  if (here.kind === "orchestration_decision") return { tool: null, decision: at };
  return { tool: null, decision: null };
}

export function WhyPanel({ run, events, at, onMove, onLight }: Props) {
  const { tool, decision } = subject(events, at);
  const why = useApi<Attribution>(tool === null ? null : `/runs/${run}/attributions/${tool}`, {}, true);
  const decided = tool === null ? decision : (why.data?.decided_at ?? null);
  const choice = useApi<DecisionDetail>(decided === null ? null : `/runs/${run}/decisions/${decided}`, {}, true);
  const failed = events[at - 1]?.kind === "tool_failed" ? events[at - 1] : undefined;
  const error = why.error ?? (choice.error?.status === 404 ? null : choice.error);
  return (
    <>
      <div className="bar-head">
        <h2>Why this step</h2>
        {tool !== null && why.data?.name}
        <span className="r">event {at}</span>
      </div>
      <div className="scroll fades" role="region" aria-label="Why this step" tabIndex={0}>
        {error !== null && <Failed error={error} />}
        {events.length < at && error === null && <Loading what="the event" />}
        {events.length >= at && tool === null && decided === null && (
          <Empty>Nothing was decided at this event. Calls of models and tools have a why.</Empty>
        )}
        {tool !== null && why.data === null && error === null && <Loading what="why" />}
        {tool !== null && why.data !== null && (
          <div className="card">
            <h2>
              <span className={failed === undefined ? "ink-tool" : "ink-bad"}>{why.data.name}</span>
              {failed !== undefined && <> failed: {String(failed.data.message ?? failed.data.error_type ?? "")}</>}
            </h2>
            {why.data.values.map((value) => (
              <Origin key={value.path} value={value} onMove={onMove} onLight={onLight} />
            ))}
            {why.data.values.length === 0 && <span className="sub">It has no arguments.</span>}
          </div>
        )}
        {tool !== null && why.data !== null && (
          <div className="card">
            <h2>Called because</h2>
            <span className="from">
              {why.data.reason}{" "}
              {why.data.evidence.map((each, n) =>
                each.seq === null ? null : <Where key={n} quote={each} onMove={onMove} onLight={onLight} />,
              )}
              {why.data.strength === "weak" && <span className="tag bad">weak</span>}
            </span>
          </div>
        )}
        {choice.data !== null && <Choice run={run} choice={choice.data} onMove={onMove} />}
      </div>
    </>
  );
}

function Origin({
  value,
  onMove,
  onLight,
}: {
  value: ValueOrigin;
  onMove: (seq: number) => void;
  onLight: (content: string | null) => void;
}) {
  const isInvented = value.source === "invented" || value.suspect;
  const from = value.evidence[0] ?? value.first;
  return (
    <div className="arg" onPointerEnter={() => onLight(from?.content ?? null)} onPointerLeave={() => onLight(null)}>
      <code>{value.path}</code>
      <code>{isInvented ? <mark className="bad">{compact(value.value)}</mark> : compact(value.value)}</code>
      <span className="from">
        <Doubts value={value} />
        {value.source === "invented" ? value.note || "said nowhere" : value.source.replaceAll("_", " ")}
        {value.how !== "exact" && value.source !== "invented" && `, ${value.how}`}
        {value.note !== "" && value.source !== "invented" && `: ${value.note}`}{" "}
        {from !== undefined && from !== null && <Where quote={from} onMove={onMove} onLight={onLight} />}
      </span>
    </div>
  );
}

/** Why a value is not to be relied on, before where it is from. */
function Doubts({ value }: { value: ValueOrigin }) {
  const isFounded = value.another_subject === null && value.unfounded.length === 0;
  return (
    <>
      {(value.source === "invented" || value.suspect) && isFounded && <span className="tag bad">invented</span>}
      {value.another_subject !== null && <span className="tag bad">of another subject</span>}
      {value.unfounded.length > 0 && <span className="tag bad">unfounded: {value.unfounded.join(", ")}</span>}
      {value.strength === "weak" && <span className="tag bad">weak</span>}
    </>
  );
}

/** A link to where something was said; hovering lights the message in the context. */
function Where({
  quote,
  onMove,
  onLight,
}: {
  quote: Pick<ContextQuote, "seq" | "content" | "quote">;
  onMove: (seq: number) => void;
  onLight: (content: string | null) => void;
}) {
  const seq = quote.seq;
  if (seq === null) return <q>{quote.quote}</q>;
  return (
    <span onPointerEnter={() => onLight(quote.content)} onPointerLeave={() => onLight(null)}>
      <button
        type="button"
        className="go"
        onClick={() => onMove(seq)}
        onFocus={() => onLight(quote.content)}
        onBlur={() => onLight(null)}
      >
        event {seq}
      </button>{" "}
      “{quote.quote}” {quote.content !== null && <ContentLink target={quote.content} />}
    </span>
  );
}

function Choice({ run, choice, onMove }: { run: string; choice: DecisionDetail; onMove: (seq: number) => void }) {
  const others = choice.options.filter((option) => !option.chosen);
  return (
    <>
      <div className="card">
        <h2>
          Chosen at{" "}
          <button type="button" className="go" onClick={() => onMove(choice.seq)}>
            event {choice.seq}
          </button>
        </h2>
        <code>{chosenText(choice.chosen)}</code>
        <p className="sub">
          {choice.reasoning !== null
            ? `Reasoning: ${choice.reasoning}`
            : (choice.reason ?? "No reasoning was recorded.")}
        </p>
      </div>
      <div className="card">
        <h2>What else was open</h2>
        {others.length === 0 ? (
          <span className="sub">Nothing that was recorded.</span>
        ) : (
          others.map((option) => (
            <div key={option.name}>
              <code>{option.name}</code> <span className="sub">{option.considered ?? ""}</span>
            </div>
          ))
        )}
        {choice.elsewhere.map((other, n) => (
          <Elsewhere key={n} run={run} other={other} />
        ))}
      </div>
    </>
  );
}

/** What other runs chose with the same context. */
function Elsewhere({ run, other }: { run: string; other: DecisionDetail["elsewhere"][number] }) {
  const runs = [...new Set(other.calls.map((call) => call.run))].filter((each) => each !== run);
  const which =
    runs.length === 0
      ? "this run, at another call,"
      : `${count(runs.length)} other ${runs.length === 1 ? "run" : "runs"}`;
  return (
    <p className="sub">
      In exactly this context, {which} chose {other.same ? "the same" : <code>{chosenText(other.chosen)}</code>}.{" "}
      {runs[0] !== undefined && (
        <Link className="go" href={`/compare/${run}/${runs[0]}`}>
          {other.same ? "Compare" : "First step where they differ"}
        </Link>
      )}
    </p>
  );
}

/** What was chosen: the calls, the text, or a label. */
export function chosenText(chosen: unknown): string {
  if (typeof chosen === "string") return chosen;
  const given = chosen as {
    tools?: { name: string; arguments: unknown }[];
    text?: string | null;
    name?: string;
    arguments?: unknown;
  } | null;
  if (given === null || typeof given !== "object") return compact(chosen);
  const calls = given.tools ?? (given.name === undefined ? [] : [{ name: given.name, arguments: given.arguments }]);
  const said = [given.text ?? "", ...calls.map((call) => `${call.name}(${argumentsText(call.arguments)})`)].filter(
    (part) => part !== "",
  );
  return said.length > 0 ? said.join("\n") : compact(chosen);
}
