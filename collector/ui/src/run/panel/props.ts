// What the panel below a run is given.
import type { RunDetail, Suspects, TurnRow } from "../../api/types";
import type { PanelName, Range } from "../page";

/** `now`: the seq of the last event that is known. */
export type PanelProps = {
  run: RunDetail;
  rows: readonly TurnRow[];
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
  /** What the page is about is loaded: the panel's own questions come after it. */
  isReady: boolean;
};
