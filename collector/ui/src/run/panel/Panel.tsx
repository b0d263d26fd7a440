// The panel below the turn: the run over time.
import type { RecordedEvent, RunDetail, Suspects, TurnRow } from "../../api/types";
import { PANELS, type PanelName, type Range } from "../page";

/** `now`: the seq of the last event that is known. */
export type PanelProps = {
  run: RunDetail;
  rows: readonly TurnRow[];
  events: readonly RecordedEvent[];
  at: number;
  turn: TurnRow | undefined;
  onGo: (seq: number) => void;
  range: Range | null;
  onRange: (range: Range | null) => void;
  panel: PanelName;
  onPanel: (panel: PanelName) => void;
  suspects: Suspects | null;
  following: boolean;
  now: number;
};

export function Panel({ at, onGo, now, panel, onPanel }: PanelProps) {
  return (
    <section aria-label="Over time">
      {PANELS.map((each) => (
        <button key={each} type="button" aria-pressed={each === panel} onClick={() => onPanel(each)}>
          {each}
        </button>
      ))}
      <input
        type="range"
        aria-label="Playhead"
        min={1}
        max={now}
        value={Math.max(at, 1)}
        onChange={(event) => onGo(Number(event.target.value))}
      />
    </section>
  );
}
