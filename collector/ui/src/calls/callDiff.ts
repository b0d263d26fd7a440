// What differs between two calls of models: settings, tools, and messages. Pure.
import { diffArrays, diffWordsWithSpace } from "diff";

import type { Message } from "../api/types";
import { saying } from "../compare/aligned";
import { compact, count } from "../model/format";

export type MessagePair =
  | { op: "same"; messages: readonly Message[] }
  | { op: "changed"; a: Message; b: Message }
  | { op: "only_a"; message: Message }
  | { op: "only_b"; message: Message };

/** Two contexts in order: equal messages in groups, and what is in the place of each other if both say it in one role. */
export function alignedMessages(a: readonly Message[], b: readonly Message[]): MessagePair[] {
  const pairs: MessagePair[] = [];
  let [i, j] = [0, 0];
  let removed: Message[] = [];
  let added: Message[] = [];
  const flush = () => {
    while (removed.length > 0 && added.length > 0 && removed[0]?.role === added[0]?.role)
      pairs.push({ op: "changed", a: removed.shift() as Message, b: added.shift() as Message });
    pairs.push(...removed.map((message) => ({ op: "only_a" as const, message })));
    pairs.push(...added.map((message) => ({ op: "only_b" as const, message })));
    [removed, added] = [[], []];
  };
  for (const change of diffArrays(a.map(saying), b.map(saying))) {
    if (change.removed) removed = [...a.slice(i, (i += change.count))];
    else if (change.added) added = [...b.slice(j, (j += change.count))];
    else {
      flush();
      pairs.push({ op: "same", messages: a.slice(i, (i += change.count)) });
      j += change.count;
    }
  }
  flush();
  return pairs;
}

export type Setting = { name: string; a: string; b: string };
const NONE = "–";

/** Settings that differ, by their paths; what one of them lacks is "–". */
export function changedSettings(a: unknown, b: unknown): Setting[] {
  const [first, second] = [flat(a), flat(b)];
  return [...new Set([...first.keys(), ...second.keys()])]
    .map((name) => ({ name, a: first.get(name) ?? NONE, b: second.get(name) ?? NONE }))
    .filter((each) => each.a !== each.b);
}

function flat(value: unknown, path = ""): Map<string, string> {
  if (value === null || value === undefined) return new Map();
  if (typeof value !== "object" || Array.isArray(value)) return new Map([[path || "value", compact(value)]]);
  return new Map(
    Object.entries(value).flatMap(([key, inner]) =>
      inner !== null && typeof inner === "object" && !Array.isArray(inner)
        ? [...flat(inner, path ? `${path}.${key}` : key)]
        : [[path ? `${path}.${key}` : key, compact(inner)] as [string, string]],
    ),
  );
}

export type ToolChange = { name: string; op: "only_a" | "only_b" | "changed" };

/** Tools that only one of the calls was offered, or with another definition. */
export function changedTools(a: unknown, b: unknown): ToolChange[] {
  const [first, second] = [byName(a), byName(b)];
  return [...new Set([...first.keys(), ...second.keys()])].flatMap((name): ToolChange[] => {
    const [ours, theirs] = [first.get(name), second.get(name)];
    if (ours === theirs) return [];
    return [{ name, op: theirs === undefined ? "only_a" : ours === undefined ? "only_b" : "changed" }];
  });
}

function byName(tools: unknown): Map<string, string> {
  if (!Array.isArray(tools)) return new Map();
  return new Map(
    tools.map((tool: { name?: unknown; function?: { name?: unknown } } | null) => [
      String(tool?.name ?? tool?.function?.name ?? "?"),
      JSON.stringify(tool),
    ]),
  );
}

export type WordChange = { text: string; op: "same" | "removed" | "added" };
/** Longer texts are compared line by line elsewhere; here both are shown as they are. */
const LONGEST = 20_000;

/** Two texts word by word; of very long ones, all of the first and all of the second. */
export function changedWords(a: string, b: string): WordChange[] {
  if (a.length > LONGEST || b.length > LONGEST)
    return [
      { text: a, op: "removed" },
      { text: b, op: "added" },
    ];
  return diffWordsWithSpace(a, b).map((change) => ({
    text: change.value,
    op: change.added ? "added" : change.removed ? "removed" : "same",
  }));
}

export type Parts = { model: boolean; settings: number; tools: number; messages: number; answer: boolean };

/** What differs, in a sentence. */
export function callSentence({ model, settings, tools, messages, answer }: Parts): string {
  const differing = [
    ...(model ? ["the model"] : []),
    ...(settings > 0 ? [counted(settings, "setting")] : []),
    ...(tools > 0 ? [counted(tools, "tool")] : []),
    ...(messages > 0 ? [counted(messages, "message")] : []),
  ];
  const saw = differing.length === 0 ? "Both saw the same" : `They differ in ${listed(differing)}`;
  return `${saw}, and ${answer ? "answered otherwise" : "answered the same"}.`;
}

const counted = (number: number, noun: string): string => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const listed = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;

export type CallPlace = { run: string; seq: number };

/** A call as it stands in an address, `RUN:SEQ`; null for anything else. */
export function readPlace(text: string | null): CallPlace | null {
  const found = /^([0-9a-f]{32}):([1-9]\d{0,8})$/.exec(text ?? "");
  return found === null ? null : { run: found[1] ?? "", seq: Number(found[2]) };
}

export const writePlace = ({ run, seq }: CallPlace): string => `${run}:${seq}`;
