// Reads a long run in pages, several at a time, and hands out what is there without gaps.
import type { Page, RecordedEvent } from "../../api/types";

const FIRST_PAGE = 200;
/** The most that the API answers at once. */
const PAGE = 1000;
/** A browser has 6 connections to a host; the panels of the page need some of them. */
const AT_ONCE = 4;

/** Asks for at most `limit` events after a seq. */
export type Ask = (after: number, limit: number) => Promise<Page<RecordedEvent>>;

/**
 * Reads all events from seq 1 on. `expected`: how many there are as far as is known; later ones are found as well.
 * `found` gets the first page, then all that is there each time it has doubled, and all at the end: handing out copies
 * costs no more than the run is long. Throws what `ask` throws.
 */
export async function readEvents(
  ask: Ask,
  expected: number,
  found: (items: RecordedEvent[], isWhole: boolean) => void,
): Promise<void> {
  const first = await ask(0, FIRST_PAGE);
  const all = first.items.slice();
  let shown = all.length;
  let isWhole = isLast(first);
  found(all.slice(), isWhole);
  let next = all.length;
  let asked: Promise<Page<RecordedEvent>>[] = [];
  while (!isWhole) {
    while (asked.length === 0 || (asked.length < AT_ONCE && next < expected)) {
      const page = ask(next, PAGE);
      page.catch(() => undefined); // the first failure is thrown below; those of later pages say the same
      asked.push(page);
      next += PAGE;
    }
    const page = await (asked.shift() as Promise<Page<RecordedEvent>>);
    all.push(...page.items);
    isWhole = isLast(page);
    if (page.items.length < PAGE) [asked, next] = [[], all.length]; // a short page: those behind it begin elsewhere
    if (!isWhole && all.length < 2 * shown) continue;
    shown = all.length;
    found(all.slice(), isWhole);
  }
}

/** A page may be short although more follow; behind the last event of a run that still runs, there is an empty one. */
const isLast = (page: Page<RecordedEvent>): boolean => page.next_cursor === null || page.items.length === 0;

/** The events with one that came live, which may be one of them with other data; null: events before it are missing. */
export function withEvent(known: readonly RecordedEvent[], event: RecordedEvent): RecordedEvent[] | null {
  if (event.seq === known.length + 1) return [...known, event];
  return event.seq <= known.length ? known.with(event.seq - 1, event) : null;
}
