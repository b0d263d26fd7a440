import assert from "node:assert/strict";
import { test } from "node:test";

import { alone, once, open, runNamed, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

/** Sealed runs are indexed in the background, when the machine has time for it. */
const LONGEST_MS = 150_000;
const indexed = once(async () => {
  const end = Date.now() + LONGEST_MS;
  while (Date.now() < end) {
    const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/search/decisions?source=invented&tool=send_item`);
    if (((await answer.json()) as { items: unknown[] }).items.length > 0) return;
    await new Promise((done) => setTimeout(done, 250));
  }
  throw new Error("the runs were never indexed");
});

test("decisions are found by conditions that stand in the address, and lead to their event", async () => {
  await indexed();
  const { page, problems } = await open("/");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Search" }).click();
  await page.getByRole("combobox", { name: "source" }).selectOption("invented");
  await page.waitForURL(/source=invented/);
  const row = page.locator("tbody tr", { hasText: "send_item" });
  await row.locator("mark.bad").getByText("LMP-9999").waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByRole("complementary", { name: "In these results" }).getByRole("button", { name: /send_item/ }).click();
  await page.waitForURL(/tool=send_item/);
  await row.getByRole("link", { name: "send_item" }).click();
  await page.waitForURL(new RegExp(`/runs/${await runNamed("forgetful")}\\?at=\\d+`));
  await page.goBack();
  await page.waitForURL(/search\?source=invented&tool=send_item/);
  await page.goBack();
  await page.waitForURL(/search\?source=invented$/);
  assert.deepEqual(problems.filter((line) => !line.includes("404")), []);
});

test("texts are found with quotes, and lead to the event with which they came", async () => {
  await indexed();
  const { page, problems } = await open("/search?for=texts");
  await page.getByText("Write words that must all stand in one text").waitFor();
  await page.getByRole("textbox", { name: "words" }).fill("77812345 crack");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=77812345/);
  const found = page.getByRole("region", { name: "Results" });
  await found.locator("mark").getByText("77812345").first().waitFor();
  await found.getByRole("link", { name: "open content" }).first().waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await found.getByRole("link", { name: /at event \d+/ }).first().click();
  await page.waitForURL(new RegExp(`/runs/${await runNamed("forgetful")}\\?at=\\d+`));
  assert.deepEqual(problems.filter((line) => !line.includes("404")), []);
});

test("nothing found, a condition that is wrong, and no answer at all say so", async () => {
  await indexed();
  const { page } = await open("/search?tool=no_such_tool", {}, alone);
  await page.getByText("No decisions meet all these conditions.").waitFor();
  await page.goto(`${URL_OF_COLLECTOR}/search?argument=nonsense`);
  await page.getByRole("alert").getByText("write name=value").waitFor();
  await page.getByRole("textbox", { name: "argument" }).fill("item_id=LMP-9999");
  await page.context().setOffline(true);
  await page.keyboard.press("Enter");
  await page.getByText("Not loaded: decisions").waitFor();
  await page.context().setOffline(false);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("region", { name: "Results" }).getByRole("link", { name: "send_item" }).first().waitFor();
});

