// What runs wait for, asked again every few seconds while somebody looks: one list for the inbox and its count.
import { useEffect, useSyncExternalStore } from "react";

import { type ApiError, get } from "../api/client";
import type { Page, WaitedFor } from "../api/types";

/** Often enough for a count; the inbox itself hears of news by the live stream. */
const EVERY_MS = 10_000;
const AT_MOST = 100;

/** `items` null: not yet asked. `isCut`: more wait than are shown. Requests to stop a run are not among them. */
export type Waiting = { items: readonly WaitedFor[] | null; isCut: boolean; error: ApiError | null };

let state: Waiting = { items: null, isCut: false, error: null };
const listeners = new Set<() => void>();

function set(next: Waiting): void {
  state = next;
  for (const listener of listeners) listener();
}

/** Asks now. */
export async function refreshWaiting(): Promise<void> {
  try {
    const page = await get<Page<WaitedFor>>("/promises", { limit: AT_MOST });
    set({
      items: page.items.filter((each) => each.kind !== "interrupt"),
      isCut: page.next_cursor !== null,
      error: null,
    });
  } catch (error) {
    set({ ...state, error: error as ApiError });
  }
}

export function useWaiting(): Waiting {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

/** Asks regularly, while the page can be seen. */
export function useWaitingRefreshed(): void {
  useEffect(() => {
    const ask = () => document.visibilityState === "visible" && void refreshWaiting();
    ask();
    const timer = setInterval(ask, EVERY_MS);
    document.addEventListener("visibilitychange", ask);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", ask);
    };
  }, []);
}
