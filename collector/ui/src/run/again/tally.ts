// How many of the new answers do what. Pure.
import type { AskedAgain } from "../../api/types";

type Answer = AskedAgain["answer"];
/** `does`: in words; `isRecorded`: the recorded answer does the same. */
export type Group = { does: string; count: number; isRecorded: boolean };

/** What an answer does: the tools that it asks for, or that it answers. Two wordings of an answer do the same. */
export function actOf(answer: Answer): string {
  if (answer.tools.length === 0) return "answers";
  return `calls ${answer.tools.map((tool) => String(tool.name)).join(", ")}`;
}

/** Groups by what is done, those with most answers first; of equals, the recorded act first. */
export function tallyOf(answers: readonly Answer[], recorded: Answer | null): Group[] {
  const act = recorded === null ? null : actOf(recorded);
  const counts = new Map<string, number>();
  for (const answer of answers) counts.set(actOf(answer), (counts.get(actOf(answer)) ?? 0) + 1);
  return [...counts]
    .map(([does, count]) => ({ does, count, isRecorded: does === act }))
    .sort((a, b) => b.count - a.count || Number(b.isRecorded) - Number(a.isRecorded));
}

/** "2 of 3 call calculate, 1 answers, as recorded." */
export function tallyText(groups: readonly Group[]): string {
  const all = groups.reduce((sum, group) => sum + group.count, 0);
  return groups
    .map(
      ({ does, count, isRecorded }, n) =>
        `${count}${n === 0 ? ` of ${all}` : ""} ${does}${isRecorded ? ", as recorded" : ""}`,
    )
    .join("; ");
}

/** The line `name(value, …)` of a tool that was asked for. */
export function toolLine(tool: Record<string, unknown>): string {
  const given = tool.arguments;
  const values =
    typeof given === "object" && given !== null && !Array.isArray(given)
      ? Object.values(given).map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
      : given === undefined
        ? []
        : [JSON.stringify(given)];
  return `${String(tool.name)}(${values.join(", ")})`;
}
