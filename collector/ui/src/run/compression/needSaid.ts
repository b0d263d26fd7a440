import type { NeededFacts } from "../../api/types";

const SAID: Readonly<Record<string, string>> = {
  asked_again: "the user was asked for it again at",
  told_again: "the user said it again before",
  looked_up_again: "looked up again at",
  missed: "said to be missing at",
  used: "used at",
};

/** What came of facts that were lost, up to the name of the turn. */
export function needSaid({ how, values }: Pick<NeededFacts, "how" | "values">): string {
  if (how === "wrong_value")
    return values.length === 0 ? "another value was used at" : `${values.join(", ")} was used instead at`;
  return SAID[how] ?? `${how.replaceAll("_", " ")} at`;
}
