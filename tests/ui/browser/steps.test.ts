// Steps as a tree, and the panels beside it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";

import type { Page } from "playwright-core";

import { alone, open, runNamed, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

const levels = (page: Page) => page.getByRole("treeitem").evaluateAll((rows) => rows.map((row) => [row.querySelector(".said")?.textContent?.split(":")[0], Number(row.getAttribute("aria-level"))]));

test("parallel agents are siblings with their calls below them, and steps collapse by mouse and keys", async () => {
  const { page } = await open(`/runs/${await runNamed("review")}?at=2`);
  await page.getByRole("treeitem", { name: /reviewer/ }).nth(2).waitFor();
  const rows = await levels(page);
  const agents = rows.filter(([name]) => name === "reviewer");
  assert.deepEqual(agents.map(([, level]) => level), [1, 1, 1]);
  for (const [n, [name]] of rows.entries()) if (name === "reviewer") assert.deepEqual(rows[n + 1]?.[1], 2, "its first message is below it");
  await page.getByRole("treeitem", { name: /reviewer/ }).first().locator(".twist").click();
  await page.getByText(/^\d below$/).first().waitFor();
  assert.equal((await levels(page)).length, rows.length - Number((await page.getByText(/^\d below$/).first().innerText()).split(" ")[0]));
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.keyboard.press("C"); // the others, too
  await page.waitForFunction(() => document.querySelectorAll('[role="treeitem"][aria-expanded="false"]').length === 3);
  await page.keyboard.press("C");
  await page.waitForFunction((all) => document.querySelectorAll('[role="treeitem"]').length === all, rows.length);
  await page.keyboard.press("c"); // the one at the playhead
  await page.waitForFunction(() => document.querySelectorAll('[role="treeitem"][aria-expanded="false"]').length === 1);
  await page.getByRole("textbox", { name: "Search in this run" }).fill("gpt");
  await page.waitForFunction(() => [...document.querySelectorAll('[role="treeitem"]')].every((row) => row.textContent?.includes("gpt")));
});

test("a block of the context window leads to its messages, and each message to where else it was", async () => {
  const { page } = await open(`/runs/${await runNamed("support")}?at=31`);
  const stage = page.getByRole("tabpanel");
  const bar = stage.getByRole("group", { name: "Tokens by kind" });
  await bar.getByRole("button", { name: /^results: / }).click();
  assert.ok((await page.locator(".msg.chosen").count()) > 1);
  assert.ok(await page.locator('.msg[data-kind="results"]').first().evaluate((row) => row.getBoundingClientRect().top < innerHeight));
  await bar.getByRole("button", { name: /^tools: / }).click();
  await stage.getByText("look_up_order, track_parcel").click();
  await stage.getByText('"parameters"').first().waitFor();
  await stage.getByRole("img", { name: /% of the limit/ }).waitFor();
  const first = page.locator('.msg[data-kind="user"]').first();
  await first.hover();
  const same = page.getByRole("group", { name: "The same message elsewhere" });
  await same.getByText("in 5 calls:").waitFor();
  assert.deepEqual(await same.getByRole("button").allInnerTexts(), ["since event 5", "first 6", "before 24", "last 35"]);
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.mouse.move(0, 0);
  await same.waitFor({ state: "detached" });
  await first.getByRole("link", { name: "content" }).focus();
  await same.getByText("in 5 calls:").waitFor();
  for (const key of ["Tab", "Tab", "Tab", "Enter"]) await page.keyboard.press(key);
  await page.waitForURL(/at=24$/);
  await same.getByRole("button", { name: "before 16" }).waitFor();
  await same.getByRole("button", { name: "since event 5" }).click();
  await page.waitForURL(/at=5$/);
});

test("a compression is shown inline, and a line of the summary lights the messages that it stands for", async () => {
  const { page } = await open(`/runs/${await runNamed("forgetful")}?at=20&panel=compression`);
  await page.getByRole("button", { name: "inline" }).click();
  const both = page.getByRole("region", { name: "Before and after" });
  await both.getByText("+ summary").waitFor();
  const signs = await both.locator("b").evaluateAll((all) => all.map((each) => each.textContent?.split(" ")[0]));
  assert.deepEqual([...new Set(signs)], ["=", "−", "+"]);
  const line = both.getByText(/stands for messages? \d/).first();
  await line.hover();
  await both.locator(".change.lit").first().waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
});

test("a run and the run that continues it are links on both sides", async () => {
  const [one, two] = [await runNamed("day one"), await runNamed("day two")];
  const { page } = await open(`/runs/${one}`);
  await page.getByText("continued by").getByRole("link", { name: two.slice(-8) }).click();
  await page.waitForURL(new RegExp(`/runs/${two}`));
  await page.getByText("continues").getByRole("link", { name: one.slice(-8) }).click();
  await page.waitForURL(new RegExp(`/runs/${one}`));
});

test("the run is downloaded as a bundle", async () => {
  const { page } = await open(`/runs/${await runNamed("support")}?at=20`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Bundle" }).click()]);
  assert.match(download.suggestedFilename(), /^playhead-[0-9a-f]{8}\.tar\.gz$/);
  const tar = gunzipSync(readFileSync(await download.path())).toString("latin1");
  assert.ok(tar.includes("manifest.json") && tar.includes("walnut desk lamp"));
});

test("the header leads to the first error, the axis stands in the address, and zones collapse and stay so", async () => {
  const { page } = await open(`/runs/${await runNamed("support")}?at=2`, {}, alone);
  await page.getByRole("button", { name: "1 error" }).click();
  await page.locator('[role=slider][aria-valuenow="20"]').waitFor();
  await page.getByRole("button", { name: "by time" }).click();
  await page.waitForURL(/axis=time/);
  const steps = page.getByRole("region", { name: "Steps" });
  await page.getByRole("button", { name: "Width of the steps" }).press("Enter");
  assert.equal((await steps.boundingBox())?.width, 0);
  await page.reload();
  await page.getByRole("button", { name: "Pause" }).or(page.getByRole("button", { name: "Play" })).waitFor();
  await page.getByRole("button", { name: "by time", pressed: true }).waitFor();
  assert.equal((await steps.boundingBox())?.width, 0);
  await page.getByRole("button", { name: "Width of the steps" }).dblclick();
  assert.ok(((await steps.boundingBox())?.width ?? 0) > 100);
  await page.getByRole("treeitem", { name: /2,?\d*→\d+|\d+→\d+/ }).first().waitFor(); // tokens of a model call
});

test("forks of a run are marked on its timeline", async () => {
  const forks = (await (await fetch(`${URL_OF_COLLECTOR}/api/v1/runs?limit=100`)).json()) as { items: { run: string; fork_of: string | null }[] };
  const fork = forks.items.find((run) => run.fork_of !== null);
  assert.ok(fork?.fork_of);
  const { page } = await open(`/runs/${fork.fork_of}`);
  await page.getByRole("link", { name: new RegExp(`^Fork ${fork.run.slice(-8)} at event \\d+: compare$`) }).click({ force: true });
  await page.waitForURL(/\/compare\//);
});
