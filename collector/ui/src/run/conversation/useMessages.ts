// The texts of what was said, page by page, while the conversation is shown.
import { useEffect, useState } from "react";

import { type ApiError, get } from "../../api/client";
import type { HistoryEntry, Message, Page } from "../../api/types";
import { asMessage } from "../../parts/messageParts";
import { runPath } from "../OnPage";

const PAGE = 200;

/** Messages by the event that added them, and answers by the event at which their model call began. */
export type Messages = {
  said: ReadonlyMap<number, Message | null>;
  answers: ReadonlyMap<number, Message | null>;
  system: Message | null;
  error: ApiError | null;
};

const NONE: Messages = { said: new Map(), answers: new Map(), system: null, error: null };

/** `news` changes when the run has grown. */
export function useMessages(run: string, news: number): Messages {
  const [messages, setMessages] = useState(NONE);
  useEffect(() => {
    const stop = new AbortController();
    read(run, stop.signal, setMessages).catch(
      (error: ApiError) => stop.signal.aborted || setMessages((before) => ({ ...before, error })),
    );
    return () => stop.abort();
  }, [run, news]);
  return messages;
}

async function read(run: string, signal: AbortSignal, found: (messages: Messages) => void): Promise<void> {
  const said = new Map<number, Message | null>();
  const answers = new Map<number, Message | null>();
  let system: Message | null = null;
  let cursor: string | null = null;
  do {
    const page: Page<HistoryEntry> = await get<Page<HistoryEntry>>(
      `${runPath(run)}/messages`,
      { limit: PAGE, cursor },
      signal,
    );
    for (const entry of page.items) {
      const message = entry.value == null ? null : asMessage(entry.value);
      said.set(entry.seq, message);
      if (entry.source === "output" && entry.call !== null) answers.set(entry.call, message);
      if (entry.role === "system") system ??= message;
    }
    cursor = page.items.length === 0 ? null : page.next_cursor;
    if (signal.aborted) return;
    found({ said: new Map(said), answers: new Map(answers), system, error: null });
  } while (cursor !== null);
}
