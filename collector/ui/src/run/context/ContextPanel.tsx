// Exactly what the model saw: blocks against the limit, what changed since the call before, and the messages.
import { useMemo, useRef, useState } from "react";

import type { ContextAt, Diff, Message, RecordedEvent, StateAt } from "../../api/types";
import { useApi } from "../../api/useApi";
import { type BlockKind, blocks, kindOf, messageTokens } from "../../model/context";
import { previousCall, summarised } from "../../model/steps/calls";
import { count, percent } from "../../model/format";
import { ContentLink } from "../../parts/ContentLink";
import { Empty, Failed, Loading } from "../../parts/Notices";
import { Row, said, Tools } from "./Messages";
import { Stack } from "./Stack";

type Props = {
  run: string;
  events: readonly RecordedEvent[];
  at: number;
  hasEnded: boolean;
  lit: string | null;
  onMove: (seq: number) => void;
};

export function ContextPanel({ run, events, at, hasEnded, lit, onMove }: Props) {
  const { data, error, isStale } = useApi<ContextAt>(`/runs/${run}/context`, { at }, true);
  const call = data?.call ?? null;
  const isKnown = call !== null && events.length >= call.seq;
  const before = useMemo(
    () => (call === null || !isKnown ? null : previousCall(events, call)),
    [events, call, isKnown],
  );
  const diff = useApi<Diff>(
    call === null || !isKnown ? null : `/runs/${run}/diff`,
    { from: before ?? 1, to: call?.seq },
    true,
  );
  const since = useMemo(() => broughtBy(events), [events]);
  const box = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<BlockKind | null>(null);
  const state = useApi<StateAt>(call === null ? null : `/runs/${run}/state`, { at: call?.seq }, true);
  if (error !== null)
    return error.status === 404 ? <Empty>Up to this event, no model was called.</Empty> : <Failed error={error} />;
  if (data === null || call === null) return <Loading what="the context" />;
  const messages = data.messages as Message[];
  const tokens = messageTokens(messages, data.tools, data.context_tokens);
  const limit = state.data?.context_limit ?? null;
  const change = diff.isStale ? null : diff.data; // that of another call is none
  const marks = changes(change, before !== null);
  const choose = (kind: BlockKind) => {
    setChosen(kind === chosen ? null : kind);
    if (kind !== chosen) box.current?.querySelector(`[data-kind="${kind}"]`)?.scrollIntoView({ block: "center" });
  };
  const summed = before === null ? new Set<string>() : summarised(events, before, call.seq);
  const gone = marks.gone.map((entry) => (summed.has(entry.message) ? { ...entry, op: "summarised" } : entry));
  return (
    <div className="ctx" ref={box} aria-busy={isStale}>
      <div className="sub">
        Call of {call.model} at{" "}
        <button type="button" className="go" onClick={() => onMove(call.seq)}>
          event {call.seq}
        </button>
        ,{" "}
        {data.context_tokens === null ? (
          "tokens not counted"
        ) : (
          <>
            {count(data.context_tokens)}
            {limit === null ? " tokens" : ` of ${count(limit)} tokens (${percent(data.context_tokens / limit)})`}
          </>
        )}
      </div>
      <Stack
        blocks={blocks(messages, tokens.each, tokens.tools)}
        share={limit === null || data.context_tokens === null ? null : data.context_tokens / limit}
        chosen={chosen}
        onChoose={choose}
      />
      <div className="legend">
        {!isKnown ? (
          <span>Loading what changed …</span>
        ) : before === null ? (
          <span>The first call{call.actor === null ? "" : ` of ${call.actor}`}.</span>
        ) : (
          <>
            <span>
              Since the call at{" "}
              <button type="button" className="go" onClick={() => onMove(before)}>
                {before}
              </button>
              :
            </span>
            {change === null ? (
              <span>…</span>
            ) : (
              <>
                <Change ink="ink-tool" times={change.context.added} what="added" />
                <Change ink="" times={change.context.kept} what="kept" />
                <Change ink="ink-cut" times={gone.filter((entry) => entry.op !== "summarised").length} what="dropped" />
                <Change
                  ink="ink-cut"
                  times={gone.filter((entry) => entry.op === "summarised").length}
                  what="summarised"
                />
                {change.context.replaced > 0 && (
                  <Change ink="ink-cut" times={change.context.replaced} what="replaced" />
                )}
              </>
            )}
          </>
        )}
      </div>
      {data.missing.length > 0 && (
        <div className="failed">{data.missing.length} contents have not arrived: what is shown has gaps.</div>
      )}
      <Tools tools={data.tools} tokens={tokens.tools} isChosen={chosen === "tools"} />
      {messages.map((message, n) => {
        const target = marks.refs.get(n);
        return (
          <Row
            key={n}
            n={n + 1}
            message={message}
            tokens={tokens.each[n] ?? 0}
            mark={marks.added.get(n) ?? null}
            target={target}
            isLit={lit !== null && target === lit}
            isChosen={kindOf(message.role) === chosen}
            since={target === undefined ? null : (since.get(target) ?? null)}
            shown={{ run, seq: call.seq, hasEnded }}
            onMove={onMove}
          />
        );
      })}
      {gone.map((entry) => (
        <div key={entry.from} className="msg gone">
          <span className="w">−</span>
          <span className="who">{entry.role ?? ""}</span>
          <span className="said">
            <span>{said(events, entry.message) ?? `message ${entry.from + 1} of the call before`}</span>
            <span className="tag cut">{entry.op}</span>
          </span>
          <span className="tk">
            <ContentLink target={entry.message} />
          </span>
        </div>
      ))}
    </div>
  );
}

function Change({ ink, times, what }: { ink: string; times: number; what: string }) {
  return (
    <span className={times === 0 ? "sub" : ink}>
      {count(times)} {what}
    </span>
  );
}

/** The event with which each message came into the run, by its ref. */
function broughtBy(events: readonly RecordedEvent[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { kind, refs, seq } of events)
    if (kind === "message_added" && refs.message !== undefined && !found.has(refs.message))
      found.set(refs.message, seq);
  return found;
}

type Gone = { from: number; role: string | null; op: string; message: string };

function changes(
  diff: Diff | null,
  hasBefore: boolean,
): { added: Map<number, string>; gone: Gone[]; refs: Map<number, string> } {
  const added = new Map<number, string>();
  const gone: Gone[] = [];
  const refs = new Map<number, string>();
  for (const entry of diff?.context.entries ?? []) {
    if (entry.to !== null) refs.set(entry.to, entry.message);
    if (!hasBefore) continue;
    if (entry.op === "added" || entry.op === "replaced") {
      if (entry.to !== null) added.set(entry.to, entry.op);
    } else if (entry.op === "dropped" && entry.from !== null)
      gone.push({ from: entry.from, role: entry.role, op: entry.op, message: entry.message });
  }
  return { added, gone, refs };
}
