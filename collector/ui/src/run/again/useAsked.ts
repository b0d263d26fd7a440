// Asks a recorded call again, a few times at once, and keeps what came back.
import { useEffect, useRef, useState } from "react";

import { type ApiError, post } from "../../api/client";
import type { AskedAgain } from "../../api/types";
import type { ChatMessage } from "./edits";

/** Questions that are open at once. */
const AT_ONCE = 3;

export type Outcome = { answer: AskedAgain } | { error: ApiError };

/** What is sent, for each of the questions. */
export type Question = {
  at: number;
  model?: string;
  system?: string;
  messages?: readonly ChatMessage[];
  settings?: Record<string, unknown>;
};

/** `open`: how many questions are under way. A page that is left asks for nothing more. */
export type Asked = { outcomes: readonly Outcome[]; open: number; ask: (question: Question, times: number) => void };

export function useAsked(path: string): Asked {
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const [open, setOpen] = useState(0);
  const isOver = useRef(false);
  useEffect(() => {
    isOver.current = false;
    return () => {
      isOver.current = true;
    };
  }, []);
  const ask = (question: Question, times: number) => {
    void askOften(path, question, times, (outcome) => {
      if (isOver.current) return false;
      setOutcomes((before) => [...before, outcome]);
      setOpen((before) => before - 1);
      return !("error" in outcome);
    }).finally(() => setOpen(0));
    setOpen(times);
  };
  return { outcomes, open, ask };
}

/** Asks so often, a few at a time; `done` says whether to go on. */
async function askOften(
  path: string,
  question: Question,
  times: number,
  done: (outcome: Outcome) => boolean,
): Promise<void> {
  let left = times;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const outcome = await post<AskedAgain>(path, question).then(
        (answer): Outcome => ({ answer }),
        (error: ApiError): Outcome => ({ error }),
      );
      if (!done(outcome)) left = 0; // what one was refused, the others would be
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, times) }, worker));
}
