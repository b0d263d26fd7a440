// Where the value of an argument comes from, in a few words. Pure.
import type { ValueOrigin } from "../../api/types";

const SOURCES: Readonly<Record<string, string>> = {
  user: "said by the user",
  tool_result: "from a result",
  assistant: "said by the model before",
  system: "from the system prompt",
  definition: "only in the tool’s definition",
  not_found: "a usual word; stands nowhere before",
};

/**
 * The words for an origin. Only a value that is suspect is "invented": a value that was built from others, or that is
 * the model's own wording, is not.
 */
export function originText(origin: ValueOrigin): string {
  if (origin.source === "derived") return `derived (${origin.how.replaceAll("_", " ")})`;
  if (origin.source === "invented")
    return origin.suspect ? "invented: stands nowhere before" : "the model’s own wording";
  return SOURCES[origin.source] ?? origin.source.replaceAll("_", " ");
}

/** Why the value is doubtful; null: it is not. */
export function doubt(origin: ValueOrigin | null): string | null {
  if (origin === null || !origin.suspect) return null;
  const other = origin.another_subject;
  if (other !== null) return `belongs to ${other.others.join(", ")}, not to ${other.value}`;
  if (origin.unfounded.length > 0) return `no origin: ${origin.unfounded.join(", ")}`;
  return "no origin";
}
