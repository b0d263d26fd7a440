import type { RecordedEvent, RunDetail } from "../api/types";
import { CompressionPanel } from "./compression/CompressionPanel";
import { ContextPanel } from "./context/ContextPanel";
import { EventPanel } from "./events/EventPanel";
import { TokensPanel } from "./tokens/TokensPanel";

export const PANELS = [
  { id: "context", name: "Context window" },
  { id: "tokens", name: "Tokens" },
  { id: "compression", name: "Compression" },
  { id: "event", name: "Event" },
] as const;

type Props = {
  run: RunDetail;
  events: readonly RecordedEvent[];
  at: number;
  panel: string;
  onPanel: (id: string) => void;
  lit: string | null;
  onMove: (seq: number) => void;
};

/** The middle of the run page: one of the panels, each about the position of the playhead. */
export function Stage({ run, events, at, panel, onPanel, lit, onMove }: Props) {
  return (
    <>
      <div className="bar-head">
        <div className="tabs" role="tablist" aria-label="Panels">
          {PANELS.map((each) => (
            <button
              key={each.id}
              id={`tab-${each.id}`}
              type="button"
              role="tab"
              aria-selected={each.id === panel}
              aria-controls="stage"
              onClick={() => onPanel(each.id)}
            >
              {each.name}
            </button>
          ))}
        </div>
      </div>
      <div className="scroll" id="stage" role="tabpanel" aria-labelledby={`tab-${panel}`} tabIndex={0}>
        {panel === "context" && (
          <ContextPanel
            run={run.run}
            events={events}
            at={at}
            hasEnded={run.status !== "running"}
            lit={lit}
            onMove={onMove}
          />
        )}
        {panel === "tokens" && <TokensPanel run={run.run} length={run.events} at={at} onMove={onMove} />}
        {panel === "compression" && <CompressionPanel run={run} events={events} at={at} onMove={onMove} />}
        {panel === "event" && <EventPanel event={events[at - 1]} />}
      </div>
    </>
  );
}
