// A run of 24,000 events: what is in view is in the page, what is looked for is found, and what is left asks for nothing more.
import assert from "node:assert/strict";
import { test } from "node:test";

import { type Page } from "playwright-core";

import { alone, open, runNamed, URL_OF_COLLECTOR } from "./support/browser.ts";
import { counted } from "./support/counted.ts";
import { answered, ended, start } from "./support/programs.ts";

/** The collector reads the whole run for some answers. */
const LONGEST_MS = 90_000;
const TURNS = 1_000;
/** Of a page 900 px high: rows in view and some around them. */
const MOST_ROWS = 80;
const MOST_ELEMENTS = 2_500;

/** Records the run when it is first asked for. */
let recording: Promise<string> | null = null;
const longRun = () => (recording ??= record());
async function record(): Promise<string> {
  assert.equal(await ended(start("PLAYHEAD_UI_LONG")), 0);
  const run = await runNamed("survey");
  await answered<{ status: string; events: number }>(`/runs/${run}`, ({ status, events }) => status === "completed" && events > 20_000, LONGEST_MS);
  return run;
}

const rows = (page: Page) => page.getByRole("listbox", { name: "Turns" }).getByRole("option");
const isAtTurn = (page: Page, turn: number) =>
  page.waitForFunction((turn) => document.querySelector('[role="slider"]')?.getAttribute("aria-valuenow") === String(turn), turn, { timeout: LONGEST_MS });

test("what is loaded first has less than 250 kB", async () => {
  const { page } = await open("/", {}, alone);
  await page.locator("tbody a").first().waitFor();
  const bytes = await page.evaluate(() => {
    const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
    return all.filter((entry) => !entry.name.includes("/api/")).reduce((sum, entry) => sum + entry.transferSize, 0);
  });
  assert.ok(bytes > 50_000 && bytes < 250_000, String(bytes));
});

test("of a long run, the turns in view are drawn, wherever the playhead goes", { timeout: 2 * LONGEST_MS }, async () => {
  const { page, problems } = await open(`/runs/${await longRun()}?at=1`);
  page.setDefaultTimeout(LONGEST_MS);
  const isSmall = async () => {
    const [listed, all] = [await rows(page).count(), await page.locator("*").count()];
    assert.ok(listed > 10 && listed <= MOST_ROWS, `${listed} turns in the page`);
    assert.ok(all < MOST_ELEMENTS, `${all} elements in the page`);
  };
  await rows(page).first().waitFor();
  await isSmall();
  await page.waitForFunction((turns) => document.querySelector('[role="slider"]')?.getAttribute("aria-valuemax") === String(turns), TURNS);
  await page.keyboard.press("End");
  await isAtTurn(page, TURNS);
  await page.getByRole("article", { name: `Turn ${TURNS}`, exact: true }).waitFor();
  await rows(page).and(page.locator("[aria-selected=true]")).waitFor();
  await isSmall();
  await page.keyboard.press("Home");
  await isAtTurn(page, 1);
  await isSmall();
  assert.deepEqual(problems, []);
});

test("a link into the middle of a long run opens there", { timeout: 2 * LONGEST_MS }, async () => {
  const { page } = await open(`/runs/${await longRun()}?at=12000`);
  page.setDefaultTimeout(LONGEST_MS);
  const turn = page.getByRole("article", { name: /^Turn (499|50\d)$/ });
  await turn.getByText(/Which of the samples (498|499|50\d)\d to/).first().waitFor();
  await rows(page).and(page.locator("[aria-selected=true]")).waitFor();
});

test("a word is found in a run of 20,000 events, wherever it stands", { timeout: 2 * LONGEST_MS }, async () => {
  const { page } = await open(`/runs/${await longRun()}`);
  page.setDefaultTimeout(LONGEST_MS);
  const { act, atMost } = counted();
  await rows(page).first().waitFor();
  await act(page.keyboard.press("f"));
  await act(page.getByRole("searchbox", { name: "Find in this run" }).fill("QUARTZITE"));
  const bar = page.getByRole("search", { name: "In this run" });
  await bar.getByRole("status").getByText("1 of 1", { exact: true }).waitFor();
  await bar.getByText(/sample 7741: /).waitFor();
  await page.waitForURL(/at=1\d{4}/);
  await page.getByRole("article", { name: /^Turn 77[45]$/ }).getByText(/sample 7741: /).first().waitFor();
  atMost(2);
  await page.getByRole("searchbox", { name: "Find in this run" }).fill("no such word");
  await bar.getByText("“no such word” stands nowhere in this run.").waitFor();
});

test("a page that is left asks for nothing more, and the collector stops working for it", { timeout: 2 * LONGEST_MS }, async () => {
  const run = await longRun();
  const { page } = await open(`/runs/${run}`);
  await page.getByRole("region", { name: "Verdict" }).waitFor({ timeout: LONGEST_MS });
  const about = (url: string) => url.includes(`/runs/${run}`);
  const asked: string[] = [];
  page.on("request", (request) => about(request.url()) && asked.push(request.url()));
  await page.getByRole("link", { name: "Playhead" }).first().click();
  await page.getByRole("table", { name: "Runs" }).waitFor({ timeout: LONGEST_MS });
  asked.length = 0;
  await new Promise((passed) => setTimeout(passed, 2_000));
  assert.deepEqual(asked, []);
  await page.close();
  const metric = async (name: string) => Number(new RegExp(`^${name} (.*)$`, "m").exec(await (await fetch(`${URL_OF_COLLECTOR}/metrics`)).text())?.[1]);
  const end = Date.now() + 10_000;
  const left = async () => (await metric("playhead_analysis_waiting")) + (await metric("playhead_analysis_running")) + (await metric("playhead_streams"));
  while ((await left()) > 0 && Date.now() < end) await new Promise((passed) => setTimeout(passed, 200));
  assert.equal(await left(), 0);
});
