// The context of a recorded call as somebody edits it.
import { useState } from "react";

import type { ContextAt } from "../../api/types";
import { type ChatMessage, systemText } from "./edits";

export type Draft = {
  /** As recorded, or as they were before a compression (`isUncut`). */
  messages: readonly ChatMessage[];
  isUncut: boolean;
  /** Texts that a person wrote, by the number of the message, from 0; some may be the recorded ones again. */
  texts: ReadonlyMap<number, string>;
  setText: (message: number, text: string) => void;
  /** Instructions apart from the messages; null: there are none. */
  recordedSystem: string | null;
  /** Other instructions; null: they are as recorded. */
  system: string | null;
  setSystem: (text: string) => void;
};

export function useDraft(context: ContextAt, isUncut: boolean): Draft {
  const [texts, setTexts] = useState<ReadonlyMap<number, string>>(new Map());
  const [system, setSystem] = useState<string | null>(null);
  const recordedSystem = systemText(context.system);
  return {
    messages: (context.messages as (ChatMessage | null)[]).filter((message) => message !== null),
    isUncut,
    texts,
    setText: (message, text) => setTexts((before) => new Map(before).set(message, text)),
    recordedSystem,
    system: system === recordedSystem ? null : system,
    setSystem,
  };
}
