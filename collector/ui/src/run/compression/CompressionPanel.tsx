// What a compression took out of the context: what was lost, where it was missed later, and what was kept.
import { useState } from "react";

import type { Compression, CompressionAudit, LostFact, Page, RecordedEvent, RunDetail } from "../../api/types";
import { useApi } from "../../api/useApi";
import { count } from "../../model/format";
import { Empty, Failed, Loading } from "../../parts/Notices";
import { Changes } from "./Changes";

type Props = { run: RunDetail; events: readonly RecordedEvent[]; at: number; onMove: (seq: number) => void };

/** The compression that the playhead stands behind; before the first one, the first. */
export function CompressionPanel({ run, events, at, onMove }: Props) {
  const all = useApi<Page<Compression>>(run.compressions === 0 ? null : `/runs/${run.run}/compressions`, {
    limit: 1000,
  });
  const items = all.data?.items ?? [];
  const here = items.findLast((each) => each.seq <= at) ?? items[0];
  const audit = useApi<CompressionAudit>(
    here === undefined ? null : `/runs/${run.run}/compressions/${here.seq}`,
    {},
    true,
  );
  if (run.compressions === 0) return <Empty>No context of this run was compressed.</Empty>;
  const error = all.error ?? audit.error;
  if (error !== null) return <Failed error={error} />;
  if (audit.data === null) return <Loading what="the compression" />;
  return (
    <div className="ctx">
      <div className="legend">
        <span>{items.length === 1 ? "Compressed at" : `${count(items.length)} compressions, at`}</span>
        {items.map((each) => (
          <button
            key={each.seq}
            type="button"
            className="chip"
            aria-pressed={each.seq === here?.seq}
            onClick={() => onMove(each.seq)}
          >
            event {each.seq}
          </button>
        ))}
      </div>
      <Audit audit={audit.data} events={events} onMove={onMove} />
    </div>
  );
}

function Audit({
  audit,
  events,
  onMove,
}: {
  audit: CompressionAudit;
  events: readonly RecordedEvent[];
  onMove: (seq: number) => void;
}) {
  const { messages, tokens } = audit;
  const [isInline, setInline] = useState(false);
  return (
    <>
      <p>
        {messages.before} messages became {messages.after}: <b>{messages.kept} kept</b>,{" "}
        <Gone times={messages.summarised} what="summarised" />, <Gone times={messages.dropped} what="dropped" />.{" "}
        {tokens.saved === null
          ? ""
          : tokens.saved < 0
            ? `${count(-tokens.saved)} tokens more than before (${tokens.basis}). `
            : `${count(tokens.saved)} tokens saved (${tokens.basis}). `}
        <span className="sub">
          {audit.origin === "inferred" || audit.origin === "detected" ? `Detected: ${audit.reason}` : audit.reason}
        </span>
      </p>
      <h2>
        Lost: {count(audit.lost_total)} {audit.lost_total === 1 ? "fact" : "facts"}, of which{" "}
        {count(audit.needed_total)} {audit.needed_total === 1 ? "was" : "were"} needed later
      </h2>
      {audit.lost.length === 0 && <p className="sub">Nothing that could be found again as a fact.</p>}
      {[...audit.lost]
        .sort((a, b) => b.needed.length - a.needed.length)
        .map((fact, n) => (
          <Lost key={n} fact={fact} onMove={onMove} />
        ))}
      <div className="tabs" role="group" aria-label="Before and after">
        <button type="button" aria-pressed={!isInline} onClick={() => setInline(false)}>
          side by side
        </button>
        <button type="button" aria-pressed={isInline} onClick={() => setInline(true)}>
          inline
        </button>
      </div>
      <Changes audit={audit} events={events} isInline={isInline} onMove={onMove} />
    </>
  );
}

function Gone({ times, what }: { times: number; what: string }) {
  return times === 0 ? <>{`0\u00a0${what}`}</> : <b className="ink-cut">{`${times}\u00a0${what}`}</b>;
}

function Lost({ fact, onMove }: { fact: LostFact; onMove: (seq: number) => void }) {
  return (
    <div className="card">
      <mark className={fact.needed.length > 0 ? "bad" : ""}>{fact.text}</mark>{" "}
      <span className="sub">{fact.label ?? fact.kind}</span>{" "}
      {fact.quotes[0]?.seq != null && (
        <>
          said at{" "}
          <button type="button" className="go" onClick={() => onMove(fact.quotes[0]?.seq ?? 1)}>
            event {fact.quotes[0].seq}
          </button>
        </>
      )}
      {fact.needed.map((need, n) => (
        <div key={n} className="ink-bad">
          needed at{" "}
          <button type="button" className="go" onClick={() => onMove(need.seq)}>
            event {need.seq}
          </button>
          : {need.how.replaceAll("_", " ")}
          {need.value === null ? "" : ` ${need.value}`}
        </div>
      ))}
    </div>
  );
}
