// The address of the list of runs: its conditions, its order, and what is asked of the API for them. Pure.

/** Conditions that the API takes, each with one value; what else stands in the address is not sent. */
export const CONDITIONS = [
  "text",
  "status",
  "agent",
  "model",
  "tool",
  "tag",
  "session",
  "user",
  "since",
  "until",
  "score",
  "suspect",
  "cost_above",
  "errors",
  "fork_of",
  "trace",
  "linked",
] as const;

/** Conditions that totals over all runs do not know: those of runs that belong together, which are few. */
const WITHOUT_TOTALS = ["fork_of", "trace", "linked"];

/** What the API can sort by. */
export type Sort =
  "attention" | "started" | "elapsed" | "turns" | "tool_calls" | "input_tokens" | "cost" | "errors" | "score";
const SORTS: readonly string[] = [
  "attention",
  "started",
  "elapsed",
  "turns",
  "tool_calls",
  "input_tokens",
  "cost",
  "errors",
  "score",
] satisfies Sort[];

export type Order = { by: Sort; isAscending: boolean };

/** The order in the address; without one: what needs attention first. */
export function orderOf(query: URLSearchParams): Order {
  const by = query.get("sort");
  return { by: by !== null && SORTS.includes(by) ? (by as Sort) : "attention", isAscending: query.has("ascending") };
}

/** Changes of the address that sort by a column: first its greatest, then its least, then by attention again. */
export function sortedBy(by: Sort, order: Order): Record<string, string | null> {
  if (order.by !== by) return { sort: by === "attention" ? null : by, ascending: null };
  if (!order.isAscending) return { ascending: "true" };
  return { sort: null, ascending: null };
}

type Asked = Record<string, string | readonly string[] | null>;

/** The conditions in the address as parameters of the API. */
export function conditionsIn(query: URLSearchParams): Asked {
  return {
    ...Object.fromEntries(CONDITIONS.map((name) => [name, query.get(name)])),
    outcome: query.getAll("outcome"),
  };
}

export const isFiltered = (query: URLSearchParams): boolean =>
  query.has("outcome") || CONDITIONS.some((name) => query.has(name));

/** Whether totals of all that meet the conditions can be asked for. */
export const hasTotals = (query: URLSearchParams): boolean => !WITHOUT_TOTALS.some((name) => query.has(name));

/** The address of a view: conditions and order, without what is only of the moment, always written the same way. */
export function viewQuery(query: URLSearchParams): string {
  const kept = new URLSearchParams();
  for (const name of [...CONDITIONS, "outcome", "sort", "ascending"].sort())
    for (const value of query.getAll(name).sort()) kept.append(name, value);
  return kept.toString();
}

/** A condition that holds, as a chip: its name, its value as people read it, and the changes that take it back. */
export type Held = { label: string; changes: Record<string, null> };

/** The conditions that hold. A range of time is one of them. */
export function heldConditions(query: URLSearchParams, timeText: (time: string) => string): Held[] {
  const held: Held[] = [];
  const outcomes = query.getAll("outcome");
  if (outcomes.length > 0) held.push({ label: `outcome: ${outcomes.join(" or ")}`, changes: { outcome: null } });
  const [since, until] = [query.get("since"), query.get("until")];
  if (since !== null || until !== null) {
    const from = since === null ? "" : `from ${timeText(since)}`;
    const to = until === null ? "" : `until ${timeText(until)}`;
    held.push({ label: `started ${[from, to].filter(Boolean).join(" ")}`, changes: { since: null, until: null } });
  }
  for (const name of CONDITIONS) {
    const value = query.get(name);
    if (value === null || name === "since" || name === "until") continue;
    held.push({ label: labelOf(name, value), changes: { [name]: null } });
  }
  return held;
}

function labelOf(name: string, value: string): string {
  if (name === "score") return `score: ${value}`;
  if (name === "cost_above") return `cost > $${value}`;
  if (name === "errors") return value === "true" ? "with errors" : "without errors";
  if (name === "suspect") return `suspect: ${value}${value === "strong" ? "" : " or stronger"}`;
  return `${name}: ${value}`;
}

/** The address with these changes: null takes a name out, a list sets it several times. */
export function changed(
  query: URLSearchParams,
  changes: Readonly<Record<string, string | readonly string[] | null>>,
): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const each of typeof value === "string" ? [value] : (value ?? [])) if (each !== "") next.append(name, each);
  }
  return next;
}
