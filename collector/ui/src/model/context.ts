// A context window as blocks against the model's limit, and messages as text. Pure.
import type { Message, Part } from "../api/types";
import { readPart } from "../parts/messageParts";
import { bytesText } from "./bytes";

export type BlockKind = "system" | "tools" | "user" | "assistant" | "results";

/** What a part of a context counts as in the bar of the context: of messages, only the system's are apart. */
type Sized = { kind: string; tokens: number };

/**
 * Estimated tokens of each message and of the tools, scaled to what is known: to the sizes of the context's `parts`, so
 * that both say the same; without parts to what the provider counted (`total`), when it counted.
 */
export function messageTokens(
  messages: readonly Message[],
  tools: unknown,
  total: number | null,
  parts: readonly Sized[] = [],
): { each: number[]; tools: number } {
  const lengths = messages.map((message) => 4 + message.parts.reduce((sum, part) => sum + partText(part).length, 0));
  const toolLength = isEmpty(tools) ? 0 : JSON.stringify(tools).length;
  const all = lengths.reduce((sum, length) => sum + length, toolLength);
  const usual = total !== null && all > 0 ? total / all : 0.25;
  const factor = (isIn: (kind: string) => boolean, length: number): number => {
    const known = parts.filter((part) => isIn(part.kind)).reduce((sum, part) => sum + part.tokens, 0);
    return parts.length > 0 && length > 0 ? known / length : usual;
  };
  const isSystem = (n: number) => kindOf(messages[n]?.role ?? "") === "system";
  const length = (of: boolean) => lengths.reduce((sum, one, n) => (isSystem(n) === of ? sum + one : sum), 0);
  const ofSystem = factor((kind) => kind === "system", length(true));
  const ofOthers = factor((kind) => kind !== "system" && kind !== "tools", length(false));
  return {
    each: lengths.map((one, n) => Math.round(one * (isSystem(n) ? ofSystem : ofOthers))),
    tools: Math.round(toolLength * factor((kind) => kind === "tools", toolLength)),
  };
}

/** The block that a message of this role belongs to. */
export function kindOf(role: string): BlockKind {
  if (role === "system" || role === "developer") return "system";
  if (role === "assistant" || role === "model") return "assistant";
  return role === "tool" || role === "function" ? "results" : "user";
}

const INKS: Record<BlockKind, string> = {
  system: "ink-state",
  tools: "",
  user: "ink-user",
  assistant: "ink-model",
  results: "ink-tool",
};

/** The class that gives a role its colour, the same everywhere. */
export const inkOf = (role: string): string => INKS[kindOf(role)];

/** A part as text: what was said, the call as `name(argument=value)`, the kind and size of bytes, or the JSON of a kind that is not known. */
export function partText(part: Part): string {
  const read = readPart(part);
  switch (read.kind) {
    case "text":
    case "reasoning":
      return read.text;
    case "call":
      return `${read.name}(${argumentsText(read.given)})`;
    case "result":
      if (read.parts !== null) return read.parts.map(partText).join("\n");
      return typeof read.value === "string" ? read.value : (JSON.stringify(read.value) ?? "");
    case "blob":
      return `[${read.mime}, ${bytesText(sizeOfBase64(read.base64))}]`; // base64: nobody reads it
    default:
      return JSON.stringify(part);
  }
}

/** How many bytes a base64 text stands for. */
export const sizeOfBase64 = (base64: string): number => Math.floor((base64.replaceAll(/[=\s]/g, "").length * 3) / 4);

/** `order="A1001", amount=178` */
export function argumentsText(given: unknown): string {
  if (given === null || typeof given !== "object" || Array.isArray(given))
    return given === undefined ? "" : JSON.stringify(given);
  return Object.entries(given)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(", ");
}

/** The names of tools, in whatever form their definitions are; "?" for one without. */
export function toolNames(tools: unknown): string[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap(
    (
      tool: {
        name?: unknown;
        function?: { name?: unknown };
        functionDeclarations?: unknown;
        function_declarations?: unknown;
      } | null,
    ) => {
      const several = tool?.functionDeclarations ?? tool?.function_declarations;
      return Array.isArray(several) ? toolNames(several) : [String(tool?.name ?? tool?.function?.name ?? "?")];
    },
  );
}

const isEmpty = (tools: unknown): boolean =>
  tools === null || tools === undefined || (Array.isArray(tools) && tools.length === 0);
