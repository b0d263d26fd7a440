// The keys of the run page; the sheet of keys in parts/KeysHelp.tsx names them.
import { useLocation } from "wouter";

import type { RunVerdict, Suspects, TurnRow } from "../api/types";
import { isForPage } from "../parts/typing";
import { useKeyPress } from "../parts/useKeyPress";
import { targetOfKey } from "./keys";
import type { PageAction, PageState } from "./page";
import { OPEN_CONTEXT } from "./turn/signals";
import { turnAt } from "./turns/rows";
import type { Find } from "./useFind";
import { usePlaying } from "./usePlaying";
import { SHOW_WORK } from "./conversation/signals";

type Props = {
  run: string;
  state: PageState;
  dispatch: (action: PageAction) => void;
  rows: readonly TurnRow[];
  turns: readonly TurnRow[];
  isWhole: boolean;
  suspects: Suspects | null;
  last: number;
  verdict: RunVerdict | null;
  find: Find;
};

export function useRunKeys(props: Props): void {
  const { run, state, dispatch, rows, turns, isWhole, suspects, last, verdict, find } = props;
  const [, go] = useLocation();
  const play = usePlaying(state.at, turns, dispatch);
  const acts: Readonly<Record<string, () => void>> = {
    f: find.open,
    n: () => dispatch({ type: "hit", step: 1 }),
    N: () => dispatch({ type: "hit", step: -1 }),
    o: () => window.dispatchEvent(new Event(OPEN_CONTEXT)),
    v: () => dispatch({ type: "fold" }),
    w: () => window.dispatchEvent(new Event(SHOW_WORK)),
    t: () => dispatch({ type: "view", view: "turns" }),
    l: () => dispatch({ type: "follow", on: !state.following, last }),
    End: () =>
      dispatch(
        isLive(verdict)
          ? { type: "follow", on: true, last }
          : { type: "go", seq: isWhole ? lastOf(turns, last) : last },
      ),
    r: () => {
      const turn = turnAt(turns, state.at);
      if (turn !== undefined) go(`/runs/${run}/ask/${turn.turn}`);
    },
    " ": play,
  };
  useKeyPress((event) => {
    if (!isForPage(event) || event.defaultPrevented || ownsKey(event)) return;
    const act = acts[event.key];
    if (act !== undefined) {
      event.preventDefault();
      return act();
    }
    const seq = targetOfKey(event.key, event.shiftKey, { at: state.at, rows, turns, suspects, last });
    if (seq === null) return;
    event.preventDefault();
    dispatch({ type: "go", seq });
  });
}

const isLive = (verdict: RunVerdict | null): boolean =>
  verdict?.outcome.word === "running" || verdict?.outcome.word === "waiting";

const lastOf = (turns: readonly TurnRow[], last: number): number => turns.at(-1)?.seq ?? last;

/** Whether the focused element does something of its own with this key: a button with Space, a tab or a slider with arrows. */
function ownsKey(event: KeyboardEvent): boolean {
  const on = event.target;
  if (!(on instanceof HTMLElement)) return false;
  if (event.key === " ") return on.closest("button, a, summary, input, select, textarea") !== null;
  const isMove = event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End";
  return isMove && on.closest('[role="tab"], [role="slider"], [role="separator"]') !== null;
}
