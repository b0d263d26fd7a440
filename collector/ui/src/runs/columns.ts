// The columns of the list: what each shows, how wide it is, and what it sorts by. Pure.
import type { RunSummary } from "../api/types";
import { count, duration, money, percent, shortCount, shortId } from "../model/format";
import type { Sort } from "./query";

export type ColumnId =
  | "score"
  | "started"
  | "took"
  | "turns"
  | "tokens"
  | "cost"
  | "errors"
  | "peak"
  | "id"
  | "agents"
  | "models"
  | "session"
  | "user"
  | "tags"
  | "forks";

/** A column beside outcome, run and what happened, which are always there. `width` in px. `isRoomy`: not below 1000 px. */
export type Column = {
  id: ColumnId;
  label: string;
  width: number;
  isNumber: boolean;
  isRoomy: boolean;
  sorts: readonly { by: Sort; label: string }[];
};

const number = (id: ColumnId, label: string, width: number, by: Sort | null, isRoomy = true): Column => ({
  id,
  label,
  width,
  isNumber: true,
  isRoomy,
  sorts: by === null ? [] : [{ by, label }],
});
const words = (id: ColumnId, label: string, width: number): Column => ({
  id,
  label,
  width,
  isNumber: false,
  isRoomy: true,
  sorts: [],
});

export const COLUMNS: readonly Column[] = [
  number("score", "score", 58, "score", false),
  number("started", "started", 86, "started"),
  number("took", "took", 92, "elapsed", false),
  {
    ...number("turns", "turns / tools", 104, null),
    sorts: [
      { by: "turns", label: "turns" },
      { by: "tool_calls", label: "tools" },
    ],
  },
  number("tokens", "tokens", 148, "input_tokens"),
  number("cost", "cost", 92, "cost", false),
  number("errors", "errors", 54, "errors"),
  number("peak", "context peak", 112, null),
  words("id", "id", 76),
  words("agents", "agents", 130),
  words("models", "models", 120),
  words("session", "session", 120),
  words("user", "user", 90),
  words("tags", "tags", 130),
  words("forks", "forks", 110),
];

/** Those that are shown until somebody chooses. */
export const DEFAULT_COLUMNS: readonly ColumnId[] = ["score", "started", "took", "turns", "tokens", "cost"];

/** The columns of this browser, from what it kept; those that are not known any more are left out. */
export function readColumns(kept: string | null): readonly ColumnId[] {
  if (kept === null) return DEFAULT_COLUMNS;
  const wanted = kept.split(",");
  return COLUMNS.map((column) => column.id).filter((id) => wanted.includes(id));
}

/** The name of the score that all of these runs have first; "score" if they differ. */
export function scoreName(rows: readonly Pick<RunSummary, "scored">[]): string {
  const names = new Set(rows.flatMap(({ scored }) => scored.slice(0, 1).map((score) => score.name)));
  return names.size === 1 ? ([...names][0] ?? "score") : "score";
}

/** A cell as text; score and started are drawn by the table, because they need more than the run. */
export function cellText(id: ColumnId, run: RunSummary): string {
  switch (id) {
    case "turns":
      return `${count(run.llm_calls)} / ${count(run.tool_calls)}`;
    case "tokens":
      return `${tokens(run.input_tokens)} → ${tokens(run.output_tokens)}`;
    case "cost":
      return money(run.cost);
    case "took":
      return duration(run.elapsed_ms);
    case "errors":
      return count(run.errors);
    case "peak":
      return peakText(run);
    case "id":
      return shortId(run.run);
    case "agents":
      return run.agents.join(", ");
    case "models":
      return run.models.join(", ");
    case "session":
      return run.session ?? "";
    case "user":
      return run.user ?? "";
    case "tags":
      return run.tags.join(", ");
    case "forks":
      return run.fork_of !== null
        ? `of ${shortId(run.fork_of)} at ${run.fork_at ?? "?"}`
        : run.fork_count > 0
          ? count(run.fork_count)
          : "";
    case "score":
    case "started":
      return "";
  }
}

/** Of millions, the last figures do not fit into the column, and say nothing. */
const tokens = (value: number): string => (value < 1_000_000 ? count(value) : shortCount(value));

function peakText({ context_peak, context_limit }: RunSummary): string {
  if (context_peak === null) return "–";
  return context_limit === null
    ? count(context_peak)
    : `${count(context_peak)} ${percent(context_peak / context_limit)}`;
}

/** What stands beside a run's name to tell it from others: its task, its session and user, or the end of its id. */
export function besideName(run: RunSummary): string {
  const task = run.tags.find((tag) => tag.startsWith("task:"));
  if (task !== undefined) return task;
  const said = [run.session, run.user].filter((part) => part !== null && part !== "");
  return said.length > 0 ? said.join(" · ") : shortId(run.run);
}
