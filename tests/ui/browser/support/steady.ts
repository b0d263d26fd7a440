// Answers without what differs each time something is recorded: times, durations and ids of calls.
import type { Page, Route } from "playwright-core";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const MINUTE_MS = 60_000;
const EVENT_MS = 10;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;
const DURATIONS = new Set(["elapsed_ms", "first_chunk_ms", "model_ms", "after_ms"]);
/** Since the beginning of the run. */
const SINCE = new Set(["started_ms", "since_ms"]);

/** How many questions of a page have no answer yet. */
const openQuestions = new WeakMap<Page, number>();

/** Waits until all that the page has asked is answered, and drawn. */
export async function settled(page: Page): Promise<void> {
  do {
    while (openQuestions.get(page) !== 0) await new Promise((done) => setTimeout(done, 20));
    await page.evaluate(() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))));
  } while (openQuestions.get(page) !== 0);
}

/** The page shows the same times and durations whenever its runs were recorded; everything else is what the collector answers. */
export async function steady(page: Page): Promise<void> {
  openQuestions.set(page, 0);
  const count = (by: 1 | -1) => openQuestions.set(page, (openQuestions.get(page) ?? 0) + by);
  await page.clock.setFixedTime(NOW);
  await page.route("**/api/v1/**", async (route) => {
    const isStream = (route.request().headers()["accept"] ?? "").includes("text/event-stream");
    if (isStream) return route.continue();
    // A page that is closed ends its requests; of others, what is missing on the page fails the test.
    count(1);
    return answered(route)
      .catch(() => route.abort().catch(() => undefined))
      .finally(() => count(-1));
  });
}

async function answered(route: Route): Promise<void> {
  const answer = await route.fetch();
  if (!(answer.headers()["content-type"] ?? "").includes("application/json")) return route.fulfill({ response: answer });
  return route.fulfill({ response: answer, json: steadied(await answer.json()) });
}

/** Events get times by their seq, runs by their place in a list. */
export function steadied(value: unknown, ms = NOW - MINUTE_MS, key = ""): unknown {
  if (DURATIONS.has(key) && typeof value === "number") return 4 * EVENT_MS;
  if (typeof value === "string") return TIME.test(value) ? new Date(ms).toISOString() : value;
  if (key === "histogram") return { step_s: 60, steps: Array.from({ length: 24 }, (_, n) => step(n)) };
  if (key === "periods" && Array.isArray(value)) return value.map((_, n) => period(n));
  if (Array.isArray(value)) return value.map((each, n) => steadied(each, isRun(each) ? NOW - (n + 1) * MINUTE_MS : ms));
  if (value === null || typeof value !== "object") return value;
  const own = value as Record<string, unknown>;
  const at = typeof own.seq === "number" ? NOW - MINUTE_MS + own.seq * EVENT_MS : ms;
  const isDuration = key === "seconds" && typeof own.mean === "number";
  const since = typeof own.seq === "number" ? own.seq * EVENT_MS : 0;
  const known = Object.entries(own).map(([name, each]) => [name, SINCE.has(name) && typeof each === "number" ? since : each] as const);
  return Object.fromEntries(known.map(([name, each]) => [name, isDuration && typeof each === "number" && name !== "count" ? 0.04 : steadied(each, at, name)]));
}

/** Runs of a period, which are others each time. */
function period(n: number) {
  const measured = (value: number) => ({ count: 1, p50: value / 2, p95: value, sum: value });
  const at = new Date(NOW - (24 - n) * MINUTE_MS).toISOString();
  return { since: at, until: at, runs: 1 + (n % 4), succeeded: 1, failed: n % 2, measures: { seconds: measured(1 + (n % 5)), input_tokens: measured(100 * n) } };
}

/** Runs of a minute in the list's histogram. */
const step = (n: number) => ({ start: new Date(NOW - (24 - n) * MINUTE_MS).toISOString(), runs: 1 + (n % 4), succeeded: 1, failed: n % 2 });

const isRun = (value: unknown): boolean => typeof value === "object" && value !== null && "started" in value;
