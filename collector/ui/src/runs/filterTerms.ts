// The filter line: conditions as people write them, and what may complete what is being written. Pure.
import type { RunSummary } from "../api/types";

/** Conditions that can be written as `name:value`, and what they mean; the API takes all of them. */
export const NAMES: Readonly<Record<string, string>> = {
  status: "running, completed, failed or cancelled",
  agent: "an agent of the run",
  model: "a model that it called",
  tool: "a tool that it called",
  tag: "one of its tags",
  session: "its session",
  user: "its user",
  score: "a condition for a score, such as reward>=1",
  since: "began at or after this time",
  until: "began before this time",
  fork_of: "forks of this run, by its id",
  trace: "with spans of this trace, by its id",
  linked: "runs that name this run and are no part of it, by its id",
};

const STATUSES = ["running", "completed", "failed", "cancelled", "lost"];
const VALUES: Readonly<Record<string, (run: RunSummary) => readonly (string | null)[]>> = {
  agent: (run) => run.agents,
  model: (run) => run.models,
  tool: (run) => run.tools,
  tag: (run) => run.tags,
  session: (run) => [run.session],
  user: (run) => [run.user],
  fork_of: (run) => [run.fork_of],
};

/** A condition, or a word: a name that is not known is part of the text. */
const TOKEN = /(?:([a-z_]+):\s*)?(?:"([^"]*)"?|(\S+))/g;

/** `agent:support status:failed lamp` as conditions; words that belong to none are the `text`. */
export function readFilter(line: string): Record<string, string> {
  const found: Record<string, string> = {};
  const words: string[] = [];
  for (const [whole, name, quoted, plain] of line.matchAll(TOKEN)) {
    const value = quoted ?? plain ?? "";
    if (name !== undefined && name in NAMES) {
      if (value !== "") found[name] = value;
    } else if (name !== undefined || !(value.replace(/:$/, "") in NAMES && value.endsWith(":")))
      words.push(name === undefined ? value : whole);
  }
  if (words.length > 0) found.text = words.join(" ");
  return found;
}

/** A suggestion: what the line becomes, what is shown of it, and what it means. */
export type Suggestion = { line: string; label: string; about: string };

const MOST = 12;

/** What may stand instead of the last word of the line: names of conditions, or values that the shown runs have. */
export function suggestions(line: string, runs: readonly RunSummary[]): Suggestion[] {
  const last = /(?:[a-z_]+:)?(?:"[^"]*|\S*)$/.exec(line)?.[0] ?? "";
  const before = line.slice(0, line.length - last.length);
  const colon = last.indexOf(":");
  const name = colon < 0 ? null : last.slice(0, colon);
  if (name === null) {
    const names = Object.entries(NAMES).filter(([each]) => each.startsWith(last.toLowerCase()));
    const direct = last === "" ? [] : Object.keys(VALUES).flatMap((each) => completed(before, each, last, runs));
    return [
      ...names.map(([each, about]) => ({ line: `${before}${each}:`, label: `${each}:`, about })),
      ...direct,
    ].slice(0, MOST);
  }
  return completed(before, name, last.slice(colon + 1).replace(/^"/, ""), runs).slice(0, MOST);
}

/** Values of a condition that contain what was written of them. */
function completed(before: string, name: string, written: string, runs: readonly RunSummary[]): Suggestion[] {
  const values = name === "status" ? STATUSES : [...new Set(runs.flatMap(VALUES[name] ?? (() => [])))];
  const wanted = written.toLowerCase();
  return values
    .filter((value) => value !== null && value !== "" && value.toLowerCase().includes(wanted) && value !== written)
    .map((value) => ({ line: `${before}${name}:${quoted(value ?? "")} `, label: `${name}:${value}`, about: "" }));
}

const quoted = (value: string): string => (/[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value);

/** Facets that are offered, at most. */
const FACETS = 3;

/** Agents and tags that some of the shown runs have and others have not, the most frequent first, with how many have them. */
export function facets(
  runs: readonly RunSummary[],
  held: (name: string) => string | null,
): [name: string, value: string, runs: number][] {
  const found = (["agent", "tag"] as const)
    .filter((name) => held(name) === null)
    .flatMap((name) => {
      const counts = new Map<string, number>();
      for (const value of runs.flatMap((run) => [...new Set(name === "agent" ? run.agents : run.tags)]))
        counts.set(value, (counts.get(value) ?? 0) + 1);
      return [...counts].map(([value, times]): [string, string, number] => [name, value, times]);
    });
  return found
    .filter(([, , times]) => times > 1 && times < runs.length)
    .sort((a, b) => b[2] - a[2])
    .slice(0, FACETS);
}
