// Figures of the UI in a real browser: python -m benchmarks --only U1,U2,U3,U4
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";

import type { Page } from "playwright-core";

import { open, URL_OF_COLLECTOR } from "./browser.ts";

const RUN = process.env.PLAYHEAD_UI_RUN ?? "";
const FILE = process.env.PLAYHEAD_UI_MEASURED ?? "measured.json";
const ROUNDS = 5;
const SCRUB_MS = 3_000;
const WHOLE_MS = 180_000;
const figures: Record<string, number> = {};
after(() => writeFileSync(FILE, JSON.stringify(figures)));

const middle = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Milliseconds from the navigation to the first element that fits, by the page's own clock. */
async function until(path: string, selector: string): Promise<{ page: Page; ms: number }> {
  const { page } = await open(path, {}, (page) =>
    page.addInitScript((selector) => {
      const watch = new MutationObserver(() => {
        if (document.querySelector(selector) === null) return;
        watch.disconnect();
        requestAnimationFrame(() => { (globalThis as unknown as { seen: number }).seen = performance.now(); });
      });
      watch.observe(document, { childList: true, subtree: true });
    }, selector));
  await page.waitForFunction(() => "seen" in globalThis);
  return { page, ms: await page.evaluate(() => (globalThis as unknown as { seen: number }).seen) };
}

const TURNS = '[aria-label="Turns"] [role="option"]';
const TURN = '[aria-label="The turn"] article[aria-busy="false"]';

test("a run opens", { skip: RUN === "" }, async () => {
  const times: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    const { page, ms } = await until(`/runs/${RUN}?at=1`, TURNS);
    times.push(ms);
    figures.bytes = await page.evaluate(() => {
      const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
      return all.filter((entry) => !entry.name.includes("/api/")).reduce((sum, entry) => sum + entry.transferSize, 0);
    });
    await page.context().close(); // with its cache
  }
  figures.first_turns_ms = middle(times);
});

test("a turn of a run opens", { skip: RUN === "" }, async () => {
  for (const [name, query] of [["turn_ms", ""], ["late_turn_ms", `?at=${process.env.PLAYHEAD_UI_AT ?? 1}`]] as const) {
    const times: number[] = [];
    for (let n = 0; n < ROUNDS; n++) {
      const { page, ms } = await until(`/runs/${RUN}${query}`, TURN);
      times.push(ms);
      await page.context().close();
    }
    figures[name] = middle(times);
  }
});

test("a run is scrubbed", { skip: RUN === "" }, async () => {
  const { page } = await open(`/runs/${RUN}?at=1`);
  const asked = performance.now();
  await page.waitForFunction(
    () => document.querySelector('[aria-label="Turns"] [role="option"]') !== null && !document.querySelector('[aria-label="Turns"] > div')?.textContent?.includes(" …"),
    undefined,
    { timeout: WHOLE_MS },
  );
  figures.whole_ms = performance.now() - asked;
  await page.locator('[aria-label="Playhead"] canvas').waitFor({ timeout: WHOLE_MS });
  const box = await page.getByRole("slider", { name: "Playhead" }).boundingBox();
  if (box === null) throw new Error("there is no timeline");
  await page.evaluate(() => {
    const frames: number[] = [];
    Object.assign(globalThis, { frames });
    requestAnimationFrame(function next(now) {
      frames.push(now);
      requestAnimationFrame(next);
    });
  });
  await page.mouse.move(box.x + 2, box.y + 8);
  await page.mouse.down();
  await page.evaluate(() => { (globalThis as unknown as { frames: number[] }).frames.length = 0; });
  const began = performance.now();
  let moves = 0;
  for (let at = 0; at < SCRUB_MS; at = performance.now() - began, moves++)
    await page.mouse.move(box.x + 2 + ((box.width - 4) * at) / SCRUB_MS, box.y + 8);
  const frames = await page.evaluate(() => [...(globalThis as unknown as { frames: number[] }).frames]);
  await page.mouse.up();
  const gaps = frames.slice(1).map((time, n) => time - (frames[n] ?? time));
  figures.frames_per_s = (1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0);
  figures.longest_frame_ms = Math.max(...gaps);
  figures.moves = moves;
  figures.rows = await page.locator(TURNS).count();
});

test("the list of runs opens", async () => {
  const times: number[] = [];
  const answers: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    const began = performance.now();
    await (await fetch(`${URL_OF_COLLECTOR}/api/v1/runs?limit=200`)).arrayBuffer();
    answers.push(performance.now() - began);
    const { page, ms } = await until("/", "tbody tr");
    times.push(ms);
    await page.context().close();
  }
  figures.list_ms = middle(times);
  figures.list_api_ms = middle(answers);
});
