// What the page that is shown can do: the palette lists it.
import { useEffect, useRef, useSyncExternalStore } from "react";

/** An act of a page. `key` is the key that does the same. */
export type PageAction = { label: string; key?: string; run: () => void };

let shown: readonly (() => readonly PageAction[])[] = [];
const listeners = new Set<() => void>();

function set(next: readonly (() => readonly PageAction[])[]): void {
  shown = next;
  for (const listener of listeners) listener();
}

/** Offers these acts in the palette while the component is shown. They may change at any time. */
export function usePageActions(actions: readonly PageAction[]): void {
  const newest = useRef(actions); // read while the palette is drawn, when no effect event may be called
  useEffect(() => {
    newest.current = actions;
  }, [actions]);
  useEffect(() => {
    const mine = () => newest.current;
    set([...shown, mine]);
    return () => set(shown.filter((each) => each !== mine));
  }, []);
}

/** The acts of the page, as they are when it is asked for them. */
export function useOfferedActions(): () => readonly PageAction[] {
  const sources = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
  return () => sources.flatMap((each) => each());
}
