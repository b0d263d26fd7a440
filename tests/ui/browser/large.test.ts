// A run of 100,000 events: only what is in view is in the page. benchmarks measures it with a recorded one.
import assert from "node:assert/strict";
import { test } from "node:test";

import { alone, open, runNamed, URL_OF_COLLECTOR } from "./support/browser.ts";

const EVENTS = 100_000;
/** Of a page 900 px high: rows in view and some around them. */
const MOST_ROWS = 80;

test("what is loaded first has less than 250 kB", async () => {
  const { page } = await open("/", {}, alone);
  await page.getByRole("link", { name: "support" }).first().waitFor();
  const bytes = await page.evaluate(() => {
    const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
    return all.filter((entry) => !entry.name.includes("/api/")).reduce((sum, entry) => sum + entry.transferSize, 0);
  });
  assert.ok(bytes > 50_000 && bytes < 250_000, String(bytes));
});

test("of 100,000 events, the steps in view are drawn, wherever the playhead goes", async () => {
  const run = await runNamed("support");
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${run}/events?limit=100`);
  const recorded = ((await answer.json()) as { items: { seq: number; span: string | null }[] }).items;
  const event = (seq: number) => {
    const of = recorded[(seq - 1) % recorded.length];
    return { ...of, seq, span: of?.span == null ? null : `${of.span}-${Math.floor((seq - 1) / recorded.length)}` };
  };
  const { page, problems } = await open(`/runs/${run}?at=1`, {}, async (page) => {
    // The recorded events again and again, as if the run had gone on for so long.
    await page.route(`**/api/v1/runs/${run}`, async (route) => {
      const about = await route.fetch();
      await route.fulfill({ response: about, json: { ...((await about.json()) as object), events: EVENTS } });
    });
    await page.route(`**/api/v1/runs/${run}/events?*`, async (route) => {
      const query = new URL(route.request().url()).searchParams;
      const [after, limit] = [Number(query.get("after")), Number(query.get("limit"))];
      const last = Math.min(EVENTS, after + limit);
      const items = Array.from({ length: last - after }, (_, n) => event(after + n + 1));
      await route.fulfill({ json: { items, next_cursor: last < EVENTS ? String(last) : null } });
    });
  });
  const rows = () => page.locator('[role="treeitem"]').count();
  await page.getByText(/100,000 events$/).first().waitFor();
  assert.ok((await rows()) <= MOST_ROWS);
  await page.keyboard.press("End");
  await page.waitForFunction(() => document.querySelector('[role="slider"]')?.getAttribute("aria-valuenow") === "100000");
  await page.waitForFunction(() => Number(document.querySelector('[role="treeitem"][aria-selected="true"] .n')?.textContent) > 99_990);
  assert.ok((await rows()) <= MOST_ROWS, String(await rows()));
  assert.ok((await page.locator("*").count()) < 2_000);
  assert.deepEqual(problems.filter((line) => !/40[04]/.test(line)), []);
});
