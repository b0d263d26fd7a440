// What came of a run, as one line of text. Pure.
import type { Message } from "../api/types";
import { partText } from "../model/context";
import { compact } from "../model/format";

/** A message as what it says, figures as they are, everything else as JSON; "–" for nothing. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string" || typeof value === "number") return String(value);
  const parts = (value as Partial<Message>).parts;
  return Array.isArray(parts) ? parts.map(partText).join("\n") : compact(value);
}
