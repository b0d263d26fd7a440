import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

import { open, URL_OF_COLLECTOR, violations } from "./browser.ts";

test("the list shows runs, and a filter stands in the address", async () => {
  const { page, problems } = await open("/");
  await page.getByRole("link", { name: "support" }).first().waitFor();
  const all = await page.locator("tbody tr").count();
  await page.getByRole("button", { name: "failed" }).click();
  await page.waitForURL(/status=failed/);
  await page.getByText("broken").first().waitFor();
  await page.waitForFunction((before) => document.querySelectorAll("tbody tr").length < before, all);
  await page.goBack();
  await page.waitForFunction((before) => document.querySelectorAll("tbody tr").length === before, all);
  assert.deepEqual(problems, []);
});

test("keys choose a run, look at it beside the list, and open it", async () => {
  const { page } = await open("/?agent=support_agent");
  await page.getByRole("link", { name: "support" }).first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press(" ");
  const peek = page.getByRole("complementary", { name: "Run" });
  await peek.getByText("look_up_order").waitFor();
  assert.match(page.url(), /peek=/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\/[0-9a-f]{32}/);
});

test("two runs that are ticked are compared, the earlier one first", async () => {
  const { page } = await open("/?agent=triage");
  await page.getByRole("link", { name: "triage" }).first().waitFor();
  const boxes = page.getByRole("checkbox");
  await boxes.nth(0).check();
  await page.getByText("Tick another run").waitFor();
  await boxes.nth(2).check();
  const ids = await page.getByRole("link", { name: /^triage$/ }).evaluateAll((links) => links.map((link) => link.getAttribute("href")?.split("/").at(-1)));
  await page.getByRole("link", { name: /^Compare triage/ }).click();
  await page.waitForURL(new RegExp(`/compare/${ids[2]}/${ids[0]}$`));
  await page.getByText("Both on one axis").waitFor();
});

test("a run that arrives is announced, and the page does not move", async () => {
  const { page } = await open("/?agent=support_agent");
  await page.getByRole("link", { name: "support" }).first().waitFor();
  const before = await page.locator("tbody tr").count();
  const env = { ...process.env, PLAYHEAD_ENDPOINT: URL_OF_COLLECTOR };
  await promisify(execFile)(process.env.PLAYHEAD_UI_PYTHON ?? "python", [process.env.PLAYHEAD_UI_AGENT ?? ""], { env });
  const news = page.getByRole("button", { name: "1 new" });
  await news.waitFor();
  assert.equal(await page.locator("tbody tr").count(), before);
  await news.click();
  await page.waitForFunction((rows) => document.querySelectorAll("tbody tr").length === rows + 1, before);
});

test("filters that nothing meets say so", async () => {
  const { page } = await open("/?user=nobody");
  await page.getByText("No run meets all these conditions.").waitFor();
});

for (const theme of ["dark", "light"] as const)
  test(`axe finds nothing in the list, ${theme}`, async () => {
    const { page } = await open("/", { colorScheme: theme });
    await page.getByRole("link", { name: "support" }).first().waitFor();
    assert.deepEqual(await violations(page), []);
  });
