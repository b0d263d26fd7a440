import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";

import type { Page, Response } from "playwright-core";

import { alone, open, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";
import { recordSpans } from "./support/spans.ts";

const rows = (page: Page) => page.locator("tbody tr:not([aria-hidden])");
const cell = (page: Page, run: string) => rows(page).filter({ has: page.getByRole("link", { name: run, exact: true }) });

test("answers are compressed, charts stand above the table, and nothing of the bar is cut", async () => {
  let answer: Promise<Response> | undefined;
  const { page } = await open("/", {}, async (page) => void (answer = page.waitForResponse(/\/api\/v1\/runs\?/)));
  assert.match((await (await answer)?.allHeaders())?.["content-encoding"] ?? "none", /^(zstd|gzip)$/);
  await cell(page, "rail_desk").first().waitFor();
  const top = async (name: "img" | "table") => (await page.getByRole("main").getByRole(name).first().boundingBox())?.y ?? -1;
  assert.ok((await top("img")) < (await top("table")));
  for (const width of [1440, 900, 390]) {
    await page.setViewportSize({ width, height: 900 });
    const links = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").all();
    assert.ok(links.length >= 4);
    for (const link of links) assert.ok(await link.evaluate((each) => each.scrollWidth <= each.clientWidth + 1 && each.getBoundingClientRect().right <= window.innerWidth), `${await link.innerText()} at ${width} px`);
  }
});

test("the list says what happened in each run, and a view stands in the address", async () => {
  const { page, problems } = await open("/");
  await cell(page, "rail_desk").first().waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  const totals = page.getByRole("region", { name: "Of all that meet the conditions" });
  await totals.getByText(/^\d+ to \d+, of \d+ scored$/).waitFor();
  await cell(page, "release_check").getByText("ConnectionError: the metrics store at metrics.internal:9090 does not answer").waitFor();
  await page.getByRole("link", { name: /^Failed \d+$/ }).click();
  await page.waitForURL(/outcome=failed&outcome=crashed/);
  await page.getByRole("button", { name: /^outcome: failed or crashed/ }).waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll("tbody tr:not([aria-hidden])")].every((row) => /failed|crashed/.test(row.textContent ?? "")));
  await page.goBack();
  await page.waitForFunction(() => [...document.querySelectorAll("tbody tr:not([aria-hidden])")].some((row) => row.textContent?.includes("succeeded")));
  assert.deepEqual(problems, []);
});

test("a row opens its run, and what happened opens its moment", async () => {
  const { page } = await open("/?outcome=crashed&text=release_check");
  await page.getByRole("link", { name: /^error: ConnectionError/ }).first().click();
  await page.waitForURL(/\/runs\/[0-9a-f]{32}\?at=\d+/);
  await page.goBack();
  await cell(page, "release_check").first().getByText("crashed").click();
  await page.waitForURL(/\/runs\/[0-9a-f]{32}(\?|$)/);
});

test("keys choose a run, tick it, and open it", async () => {
  const { page } = await open("/?agent=support_agent");
  await page.getByRole("link", { name: "support" }).first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByText("Tick another run").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\/[0-9a-f]{32}/);
});

test("two runs that are ticked are compared, the earlier one first", async () => {
  const { page } = await open("/?agent=triage&sort=started");
  await page.getByRole("link", { name: "triage" }).first().waitFor();
  const boxes = page.getByRole("checkbox");
  await boxes.nth(0).check();
  await page.getByText("Tick another run").waitFor();
  await boxes.nth(2).check();
  const ids = await page.getByRole("link", { name: "triage", exact: true }).evaluateAll((links) => links.map((link) => link.getAttribute("href")?.split("/").at(-1)));
  await page.getByRole("link", { name: /^Compare triage/ }).click();
  await page.waitForURL(new RegExp(`/compare/${ids[2]}/${ids[0]}$`));
});

test("conditions are written in one line, completed, and stand in the address", async () => {
  const { page } = await open("/");
  await page.getByRole("link", { name: "support", exact: true }).first().waitFor();
  await page.keyboard.press("/");
  const line = page.getByRole("combobox", { name: "Filter runs" });
  await page.keyboard.type("ag");
  await page.getByRole("option", { name: /^agent: / }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("supp");
  await page.getByRole("option", { name: "agent:support_agent" }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByRole("option", { name: "agent:support_agent" }).click();
  await page.keyboard.type("status:c");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await line.inputValue(), "agent:support_agent status:completed ");
  await page.keyboard.type("conversation-42");
  await page.keyboard.press("Enter");
  await page.waitForURL(/agent=support_agent/);
  assert.match(page.url(), /status=completed/);
  assert.match(page.url(), /text=conversation-42/);
  await page.getByText("1 run.", { exact: true }).waitFor();
  await page.getByRole("button", { name: /^text: conversation-42/ }).click();
  await page.waitForFunction(() => !location.search.includes("text="));
});

test("scores and costs are conditions with their signs", async () => {
  const { page } = await open("/");
  await page.getByRole("combobox", { name: "Filter runs" }).fill("reward<1 cost>0.0001 outcome:failed");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("score") === "reward<1" && url.searchParams.get("cost_above") === "0.0001" && url.searchParams.get("outcome") === "failed");
  await page.waitForFunction(() => {
    const found = [...document.querySelectorAll("tbody tr:not([aria-hidden])")];
    return found.length > 0 && found.every((row) => row.textContent?.includes("failed"));
  });
});

test("every column sorts, both ways, and the order stands in the address", async () => {
  const { page } = await open("/?agent=rail_desk");
  const costs = () => rows(page).locator("td:last-child").evaluateAll((cells) => cells.map((each) => Number(each.textContent?.replace("$", ""))));
  await rows(page).first().waitFor();
  await page.getByRole("button", { name: "cost", exact: true }).click();
  await page.waitForURL(/sort=cost/);
  await page.locator("th[aria-sort=descending]", { hasText: "cost" }).waitFor();
  await page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null);
  const falling = await costs();
  assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
  await page.getByRole("button", { name: "cost", exact: true }).click();
  await page.locator("th[aria-sort=ascending]", { hasText: "cost" }).waitFor();
  await page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null);
  assert.deepEqual(await costs(), [...falling].reverse());
});

test("columns are chosen, and this browser keeps them", async () => {
  const { page } = await open("/", {}, alone);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("dialog", { name: "Columns" }).getByLabel("agents").check();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.keyboard.press("Escape");
  await page.getByRole("columnheader", { name: "agents" }).waitFor();
  await page.reload();
  await page.getByRole("columnheader", { name: "agents" }).waitFor();
});

test("a name that turns the text around changes nothing beside it", async () => {
  const { page } = await open("/?text=photo_desk", {}, (page) => page.addInitScript(() => localStorage.setItem("runs.columns", "cost,agents")));
  const agents = cell(page, "photo_desk").getByRole("cell", { name: "photoU+202Edesk" });
  await agents.waitFor();
  assert.equal(await agents.locator("bdi").count(), 1);
  assert.doesNotMatch((await page.locator("body").textContent()) ?? "", /\u202e/);
  // Names stand in labels and titles, too, where nothing can be marked.
  assert.deepEqual(await page.locator("[aria-label], [title]").evaluateAll((all) => all.filter((each) => /\u202e/.test(`${each.getAttribute("aria-label")} ${each.getAttribute("title")}`)).map((each) => each.outerHTML)), []);
});

test("a drag over the histogram narrows the time, and a chip takes it back", async () => {
  const { page } = await open("/");
  const bars = page.getByRole("img", { name: /runs, .* failed, between/ });
  const box = await bars.boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + box.width * 0.1, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 20, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/since=.*until=/);
  await page.getByRole("button", { name: /^started from .* until/ }).click();
  await page.waitForFunction(() => !location.search.includes("since="));
});

test("a view is saved, counted, and deleted", async () => {
  const { page } = await open("/?agent=triage");
  await rows(page).first().waitFor();
  const total = await page.getByText(/^All \d+ runs\.$/).textContent();
  await page.getByRole("button", { name: "+ Save this view" }).click();
  const sheet = page.getByRole("dialog", { name: "Save this view" });
  await sheet.getByRole("button", { name: "Save" }).click();
  await sheet.getByRole("alert").getByText("Write a name for the view.").waitFor();
  await sheet.getByLabel("Its name").fill("triage only");
  await sheet.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: new RegExp(`^triage only ${total?.match(/\d+/)?.[0]}$`) }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByRole("button", { name: "Delete the view triage only" }).click();
  await page.getByRole("link", { name: /^triage only/ }).waitFor({ state: "detached" });
});

test("a run that arrives is announced, and the page does not move", async () => {
  let following: Promise<unknown> = Promise.resolve();
  const { page } = await open("/?agent=rail_desk", {}, async (page) => void (following = page.waitForResponse(/\/runs\/stream\?/)));
  await rows(page).first().waitFor();
  await following; // what begins before is no news
  const before = await rows(page).count();
  await recordSpans("newcomer");
  const news = page.getByRole("button", { name: "1 new" });
  await news.waitFor();
  assert.equal(await rows(page).count(), before);
  await page.getByRole("link", { name: /^All \d+$/ }).click();
  await news.click();
  await page.getByText("newcomer").first().waitFor();
});

test("the row of a run that goes on changes when it ends", async () => {
  const agent = spawn(process.env.PLAYHEAD_UI_PYTHON ?? "python", [process.env.PLAYHEAD_UI_WAITING ?? ""], { env: { ...process.env, PLAYHEAD_ENDPOINT: URL_OF_COLLECTOR } });
  try {
    const run = await new Promise<string>((resolve) => createInterface(agent.stdout).once("line", resolve));
    while (!(await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${run}`)).ok) await new Promise((resolve) => setTimeout(resolve, 100));
    const { page } = await open("/?text=waiting&sort=started");
    const row = page.locator("tbody tr", { has: page.locator(`a[href$="/runs/${run}"]`) });
    await row.getByText("running").waitFor();
    agent.stdin.end();
    await row.getByText("not scored").waitFor();
  } finally {
    agent.kill("SIGKILL");
  }
});

test("conditions that nothing meets are said, and can be taken back", async () => {
  const { page } = await open("/?user=nobody");
  await page.getByText("No run meets all these conditions.").waitFor();
  await page.getByRole("link", { name: "Take them back" }).click();
  await rows(page).first().waitFor();
});

for (const width of [1440, 900, 390])
  test(`the list does not scroll sideways at ${width} px`, async () => {
    const { page } = await open("/", { viewport: { width, height: 844 } });
    await cell(page, "release_check").first().waitFor();
    const wide = await page.evaluate(() => [document.documentElement, document.querySelector("main")].map((each) => (each?.scrollWidth ?? 0) - (each?.clientWidth ?? 0)));
    assert.deepEqual(wide, [0, 0]);
    const name = await cell(page, "release_check").first().getByText("ConnectionError").boundingBox();
    assert.ok(name !== null && name.width > 150, "what happened can be read");
    assert.deepEqual(await violationsInBothThemes(page), []);
  });
