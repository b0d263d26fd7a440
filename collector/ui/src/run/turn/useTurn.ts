import type { RunTurn, TurnRow } from "../../api/types";
import { type Asked, useApi } from "../../api/useApi";
import { runPath } from "../OnPage";

/** A turn that has ended, with all calls that it asked for, is asked for once. */
const isSettled = (row: TurnRow | undefined): boolean =>
  row !== undefined && row.status !== "open" && row.calls.every((call) => call.status !== "open");

/**
 * The turn: at once without its reasons, then with them; they take longer, and are not asked for of a turn that is passed
 * over. `news`: a turn that is under way is asked for again.
 */
export function useTurn(run: string, number: number | null, row: TurnRow | undefined, news: number): Asked<RunTurn> {
  const path = number === null ? null : `${runPath(run)}/turns/${number}`;
  const keeps = isSettled(row);
  const state = keeps ? 0 : news;
  const quick = useApi<RunTurn>(path, {}, keeps, state);
  const isThere = quick.data !== null && quick.data.number === number;
  const whole = useApi<RunTurn>(isThere ? path : null, { why: true }, keeps, state);
  const isWhole = whole.data !== null && whole.data.number === number;
  return isWhole ? whole : quick;
}
