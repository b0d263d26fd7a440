import type { OutcomeOfRun } from "../api/types";

export type OutcomeWord = OutcomeOfRun["word"];

/** Mark, colour (a class of the theme) and word of each outcome; never colour alone. `sentence` is what a verdict says. */
export const OUTCOMES: Readonly<
  Record<OutcomeWord, { mark: string; ink: string; tag: string; word: string; sentence: string }>
> = {
  waiting: { mark: "◐", ink: "ink-state", tag: "state", word: "waits", sentence: "Waits for you" },
  crashed: { mark: "✕", ink: "ink-bad", tag: "bad", word: "crashed", sentence: "Crashed" },
  lost: { mark: "✕", ink: "ink-bad", tag: "bad", word: "lost", sentence: "Lost" },
  failed: { mark: "✕", ink: "ink-bad", tag: "bad", word: "failed", sentence: "Failed" },
  running: { mark: "●", ink: "ink-user", tag: "user", word: "running", sentence: "Running" },
  succeeded: { mark: "✓", ink: "ink-good", tag: "good", word: "succeeded", sentence: "Succeeded" },
  cancelled: { mark: "–", ink: "ink-state", tag: "state", word: "cancelled", sentence: "Cancelled" },
  unknown: { mark: "·", ink: "ink-soft", tag: "", word: "not scored", sentence: "Ended, not scored" },
};

/** What came of a run: a mark and a word. `asTag`: with a background, for heads. */
export function Outcome({ word, asTag = false }: { word: OutcomeWord; asTag?: boolean }) {
  const look = OUTCOMES[word];
  return (
    <span className={asTag ? `tag ${look.tag}` : look.ink}>
      <span aria-hidden="true">{look.mark}</span> {look.word}
    </span>
  );
}
