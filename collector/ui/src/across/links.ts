// Which runs a figure is about, as an address of the runs list. Pure.

export type Conditions = Record<string, string | null>;

/** Conditions that questions across runs and the runs list have in common. */
export const SHARED = ["agent", "status", "session", "user", "tag", "model", "tool", "text", "since", "until"] as const;

/** The address of the runs list with these conditions; null and empty ones are left out. */
export function runsLink(...conditions: Conditions[]): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(Object.assign({}, ...conditions) as Conditions))
    if (value !== null && value !== "") query.set(name, value);
  return query.size === 0 ? "/" : `/?${query}`;
}

/** The conditions that succeeded runs meet; `outcome` as in the API, null: a completed run has succeeded. */
export function succeededRuns(outcome: string | null): Conditions {
  if (outcome === null || outcome === "") return { status: "completed" };
  return { score: /[<>=]/.test(outcome.slice(1)) ? outcome : `${outcome}>=0.5` };
}

const OPPOSITE: Record<string, string> = { ">=": "<", ">": "<=", "<=": ">", "<": ">=" };

/** The conditions that failed runs meet; null: the list has no condition for them, as for a category's others. */
export function failedRuns(outcome: string | null): Conditions | null {
  if (outcome === null || outcome === "") return { status: "failed" };
  const found = /^(.[^<>=]*)([<>]=?|=)(.+)$/.exec(outcome);
  if (found === null) return { score: `${outcome}<0.5` };
  const [, name = "", sign = "", value = ""] = found;
  if (sign !== "=") return { score: `${name}${OPPOSITE[sign]}${value}` };
  if (value.toLowerCase() === "true") return { score: `${name}=false` };
  return value.toLowerCase() === "false" ? { score: `${name}=true` } : null;
}

/** The condition that a feature of `differences` stands for; {} when the list has none, as for numbers. */
export function featureCondition(feature: string): Conditions {
  const label = /^(model|agent|tag) (.+)$/.exec(feature);
  if (label !== null) return { [label[1] ?? ""]: label[2] ?? "" };
  const tool = /^calls (.+?)(?: again)?$/.exec(feature) ?? /^(.+) fails$/.exec(feature);
  if (tool !== null) return toolCondition(tool[1] ?? null);
  const choice = /^(.+) after (.+?)(?: completed| failed| cancelled| open)?$/.exec(feature);
  return choice === null ? {} : toolCondition(choice[1] ?? null, choice[2] ?? null);
}

/** Runs that call a tool; `(begin)` and `(end)` are none. */
export function toolCondition(...names: (string | null)[]): Conditions {
  const tool = names.find((name) => name !== null && name !== "" && !name.startsWith("("));
  return tool == null ? {} : { tool };
}

/** The condition for the runs of one task, where tasks are told apart by a tag, name, session or user. */
export function taskCondition(by: string, task: string): Conditions {
  if (by.startsWith("tag:")) return { tag: task };
  return by === "session" || by === "user" ? { [by]: task } : by === "name" ? { text: task } : {};
}
