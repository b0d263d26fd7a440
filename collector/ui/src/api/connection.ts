// Whether the collector answers, and whether it still knows this browser: one place for all pages, so that it is said once.
import { useSyncExternalStore } from "react";

/** `silent`: nothing answers since `since` (ms since 1970), and it is tried again. `signed out`: the session has expired. */
export type Connection = { kind: "up" } | { kind: "silent"; since: number } | { kind: "signed out" };

const FIRST_DELAY_MS = 1_000;
const LAST_DELAY_MS = 15_000;

let connection: Connection = { kind: "up" };
const listeners = new Set<() => void>();
/** Questions that had no answer: asked again as soon as there is one. */
const waiting = new Set<() => void>();

function set(next: Connection): void {
  connection = next;
  for (const listener of [...listeners]) listener();
}

/** Every answer, of any status, says that the collector is there. A person has to sign in again before 401 goes away. */
export function heard(status: number): void {
  if (status === 401) {
    if (connection.kind !== "signed out") set({ kind: "signed out" });
  } else if (connection.kind === "silent") up();
}

/** Nothing answered. From now on the collector is tried by itself, until it answers. */
export function heardNothing(): void {
  if (connection.kind !== "up") return;
  set({ kind: "silent", since: Date.now() });
  probe(FIRST_DELAY_MS);
}

/** A person has signed in. */
export const signedIn = (): void => up();

function up(): void {
  set({ kind: "up" });
  const asked = [...waiting];
  waiting.clear();
  for (const again of asked) again();
}

let timer: ReturnType<typeof setTimeout> | undefined;

function probe(delay: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void tryNow(delay), delay);
}

/** Asks whether the collector is there; it needs no key. */
export async function tryNow(delay = FIRST_DELAY_MS): Promise<void> {
  if (connection.kind !== "silent") return;
  try {
    const answer = await fetch(new URL("api/v1/session", document.baseURI), { credentials: "same-origin" });
    if (answer.status < 500) return up();
  } catch {
    // It is tried again.
  }
  if (connection.kind === "silent") probe(Math.min(delay * 2, LAST_DELAY_MS));
}

/** Calls `again` once, when the collector answers again, or a person has signed in. Returns what takes it back. */
export function whenUp(again: () => void): () => void {
  waiting.add(again);
  return () => waiting.delete(again);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => connection);
}

if (typeof document !== "undefined")
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void tryNow());
