// What a compression took out of the context: what was lost, where it was missed later, and what was kept.
import type { Compression, CompressionAudit, LostFact, Page, RunDetail } from "../api/types";
import { useApi } from "../api/useApi";
import { compact, count } from "../model/format";
import { ContentLink } from "../parts/ContentLink";
import { Empty, Failed, Loading } from "../parts/Notices";

type Props = { run: RunDetail; at: number; onMove: (seq: number) => void };

/** The compression that the playhead stands behind; before the first one, the first. */
export function CompressionPanel({ run, at, onMove }: Props) {
  const all = useApi<Page<Compression>>(run.compressions === 0 ? null : `/runs/${run.run}/compressions`, { limit: 1000 });
  const items = all.data?.items ?? [];
  const here = items.findLast((each) => each.seq <= at) ?? items[0];
  const audit = useApi<CompressionAudit>(here === undefined ? null : `/runs/${run.run}/compressions/${here.seq}`, {}, true);
  if (run.compressions === 0) return <Empty>No context of this run was compressed.</Empty>;
  const error = all.error ?? audit.error;
  if (error !== null) return <Failed error={error} />;
  if (audit.data === null) return <Loading what="the compression" />;
  return (
    <div className="ctx">
      <div className="legend">
        {items.map((each) => (
          <button key={each.seq} type="button" className="chip" aria-pressed={each.seq === here?.seq} onClick={() => onMove(each.seq)}>
            event {each.seq}
          </button>
        ))}
      </div>
      <Audit audit={audit.data} onMove={onMove} />
    </div>
  );
}

function Audit({ audit, onMove }: { audit: CompressionAudit; onMove: (seq: number) => void }) {
  const { messages, tokens } = audit;
  return (
    <>
      <p>
        {messages.before} messages became {messages.after}: <b>{messages.kept} kept</b>, <b className="ink-cut">{messages.summarised} summarised</b>,{" "}
        <b className="ink-cut">{messages.dropped} dropped</b>. {tokens.saved === null ? "" : `${count(tokens.saved)} tokens saved (${tokens.basis}). `}
        <span className="sub">{audit.origin === "inferred" || audit.origin === "detected" ? `Detected: ${audit.reason}` : audit.reason}</span>
      </p>
      <h2>Lost: {count(audit.lost_total)} facts, of which {count(audit.needed_total)} were needed later</h2>
      {audit.lost.length === 0 && <p className="sub">Nothing that could be found again as a fact.</p>}
      {[...audit.lost].sort((a, b) => b.needed.length - a.needed.length).map((fact, n) => <Lost key={n} fact={fact} onMove={onMove} />)}
      <div className="pair">
        <div>
          <h2>Before</h2>
          {[...audit.dropped, ...audit.summarised, ...audit.kept].sort((a, b) => a.position - b.position).map((message) => (
            <p key={message.position} className={message.after === null ? "ink-cut" : "sub"}>
              {message.after === null ? "− " : "= "}<b>{message.role}</b>{" "}
              {message.seq !== null && <button type="button" className="go" onClick={() => onMove(message.seq ?? 1)}>event {message.seq}</button>}{" "}
              {message.message !== null && <ContentLink target={message.message} />}
            </p>
          ))}
        </div>
        <div><h2>Summary</h2><pre>{audit.summary === null ? "none was written" : typeof audit.summary === "string" ? audit.summary : compact(audit.summary)}</pre></div>
      </div>
    </>
  );
}

function Lost({ fact, onMove }: { fact: LostFact; onMove: (seq: number) => void }) {
  return (
    <div className="card">
      <mark className={fact.needed.length > 0 ? "bad" : ""}>{fact.text}</mark> <span className="sub">{fact.label ?? fact.kind}</span>{" "}
      {fact.quotes[0]?.seq != null && <>said at <button type="button" className="go" onClick={() => onMove(fact.quotes[0]?.seq ?? 1)}>event {fact.quotes[0].seq}</button></>}
      {fact.needed.map((need, n) => (
        <div key={n} className="ink-bad">
          needed at <button type="button" className="go" onClick={() => onMove(need.seq)}>event {need.seq}</button>: {need.how.replaceAll("_", " ")}{need.value === null ? "" : ` ${need.value}`}
        </div>
      ))}
    </div>
  );
}
