// The playhead: one position in a run, outside React, so that moving it draws only what depends on it.
import { useSyncExternalStore } from "react";

export type Playhead = {
  /** The event it stands at, from 1. */
  readonly at: number;
  move(seq: number): void;
  subscribe(listener: () => void): () => void;
};

/** A playhead between 1 and `last()`. */
export function playhead(start: number, last: () => number): Playhead {
  let at = start;
  const listeners = new Set<() => void>();
  return {
    get at() {
      return at;
    },
    move(seq) {
      const to = Math.max(1, Math.min(Math.round(seq), last()));
      if (to === at) return;
      at = to;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The playhead's position, drawn again whenever it moves. */
export function useAt(head: Playhead): number {
  return useSyncExternalStore(head.subscribe, () => head.at);
}
