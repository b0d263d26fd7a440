// What all parts of the run page share.
import { createContext, useContext } from "react";

import type { RunDetail, Suspects, TurnRow } from "../api/types";
import type { LiveRun } from "./live/useLiveRun";
import type { Mark } from "./turns/rows";

/**
 * `lastAnswer` is the turn with the run's last answer to its user, whose end nobody replied to. `go` moves the page to an event. `news` changes when the run has grown: answers about it are asked for again.
 */
export type OnPage = {
  run: RunDetail;
  rows: readonly TurnRow[];
  turns: readonly TurnRow[];
  suspects: Suspects | null;
  marks: ReadonlyMap<number, Mark>;
  lastAnswer: TurnRow | undefined;
  go: (seq: number) => void;
  news: number;
  live: LiveRun;
};

const Context = createContext<OnPage | null>(null);
export const OnPageProvider = Context.Provider;

/** Throws outside of a run page. */
export function useOnPage(): OnPage {
  const found = useContext(Context);
  if (found === null) throw new Error("This belongs on a run page.");
  return found;
}

/** The path of a run's answers below the API. */
export const runPath = (run: string): string => `/runs/${encodeURIComponent(run)}`;
