// Lists of scores and notes are asked for again when one was added, wherever its form stands.
import { useSyncExternalStore } from "react";

let added = 0;
const listeners = new Set<() => void>();

/** Counts what was added since the page was loaded. */
export const useAdded = (): number =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => added,
  );

export function refreshNotes(): void {
  added += 1;
  for (const listener of listeners) listener();
}
