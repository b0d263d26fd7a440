// The filter line: conditions as people write them, and what may complete what is being written. Pure.
import type { RunSummary } from "../api/types";

/** Conditions that can be written as `name:value`, and what they mean; the API takes all of them. */
export const NAMES: Readonly<Record<string, string>> = {
  outcome: "what came of it: failed, crashed, waiting, succeeded, …",
  status: "running, completed, failed, cancelled or lost",
  agent: "an agent of the run",
  model: "a model that it called",
  tool: "a tool that it called",
  tag: "one of its tags",
  session: "its session",
  user: "its user",
  score: "a condition for a score, such as reward>=1",
  suspect: "its first suspect is at least so strong: strong, likely, weak",
  cost_above: "it cost more, in $; or written as cost>0.1",
  errors: "true: something failed in it; false: nothing did",
  since: "began at or after this time",
  until: "began before this time",
  fork_of: "forks of this run, by its id",
  trace: "with spans of this trace, by its id",
  linked: "runs that name this run and are no part of it, by its id",
};

const VALUES: Readonly<Record<string, readonly string[]>> = {
  outcome: ["waiting", "crashed", "failed", "lost", "running", "succeeded", "cancelled", "unknown"],
  status: ["running", "completed", "failed", "cancelled", "lost"],
  suspect: ["strong", "likely", "weak"],
  errors: ["true", "false"],
};
const OF_RUNS: Readonly<Record<string, (run: RunSummary) => readonly (string | null)[]>> = {
  agent: (run) => run.agents,
  model: (run) => run.models,
  tool: (run) => run.tools,
  tag: (run) => run.tags,
  session: (run) => [run.session],
  user: (run) => [run.user],
  fork_of: (run) => [run.fork_of],
  score: (run) =>
    run.scored.flatMap(({ name, value }) =>
      typeof value === "number" ? [`${name}>=1`, `${name}<1`] : [`${name}=${value}`],
    ),
};

/** A condition, or a word: a name that is not known is part of the text. */
const TOKEN = /(?:([a-z_]+):\s*)?(?:"([^"]*)"?|(\S+))/g;
/** `reward<1`: a score, and what it is to be. */
const TEST = /^([A-Za-z_][\w.-]*)(>=|<=|>|<|=)(.+)$/;

/** `agent:support outcome:failed reward<1 cost>0.1 lamp` as conditions; words that belong to none are the `text`. */
export function readFilter(line: string): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = {};
  const words: string[] = [];
  const outcomes: string[] = [];
  for (const [whole, name, quoted, plain] of line.matchAll(TOKEN)) {
    const value = quoted ?? plain ?? "";
    const test = name === undefined && quoted === undefined ? TEST.exec(value) : null;
    if (name === "outcome") outcomes.push(...value.split(",").filter((each) => each !== ""));
    else if (name !== undefined && name in NAMES) {
      if (value !== "") found[name] = value;
    } else if (test !== null) {
      if (test[1] === "cost" && test[2]?.startsWith(">")) found.cost_above = test[3] ?? "";
      else found.score = value;
    } else if (name !== undefined || !(value.replace(/:$/, "") in NAMES && value.endsWith(":")))
      words.push(name === undefined ? value : whole);
  }
  if (outcomes.length > 0) found.outcome = outcomes;
  if (words.length > 0) found.text = words.join(" ");
  return found;
}

/** A suggestion: what the line becomes, what is shown of it, and what it means. */
export type Suggestion = { line: string; label: string; about: string };

const MOST = 18;

/** What may stand instead of the last word of the line: names of conditions, or values that the shown runs have. */
export function suggestions(line: string, runs: readonly RunSummary[]): Suggestion[] {
  const last = /(?:[a-z_]+:)?(?:"[^"]*|\S*)$/.exec(line)?.[0] ?? "";
  const before = line.slice(0, line.length - last.length);
  const colon = last.indexOf(":");
  const name = colon < 0 ? null : last.slice(0, colon);
  if (name === null) {
    const names = Object.entries(NAMES).filter(([each]) => each.startsWith(last.toLowerCase()));
    const direct = last === "" ? [] : Object.keys(OF_RUNS).flatMap((each) => completed(before, each, last, runs));
    return [
      ...names.map(([each, about]) => ({ line: `${before}${each}:`, label: `${each}:`, about })),
      ...direct,
    ].slice(0, MOST);
  }
  return completed(before, name, last.slice(colon + 1).replace(/^"/, ""), runs).slice(0, MOST);
}

/** Values of a condition that contain what was written of them. */
function completed(before: string, name: string, written: string, runs: readonly RunSummary[]): Suggestion[] {
  const values = VALUES[name] ?? [...new Set(runs.flatMap(OF_RUNS[name] ?? (() => [])))];
  const wanted = written.toLowerCase();
  return values
    .filter((value) => value !== null && value !== "" && value.toLowerCase().includes(wanted) && value !== written)
    .map((value) => ({ line: `${before}${name}:${quoted(value ?? "")} `, label: `${name}:${value}`, about: "" }));
}

const quoted = (value: string): string => (/[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value);
