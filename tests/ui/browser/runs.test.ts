import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";

import { open, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

test("the list shows runs, and a filter stands in the address", async () => {
  const { page, problems } = await open("/");
  await page.getByRole("link", { name: "support" }).first().waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
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

/** What an OpenTelemetry exporter sends of a run with one call. */
async function recordSpan(): Promise<void> {
  const startTimeUnixNano = `${Date.now()}000000`;
  const attributes = [{ key: "gen_ai.operation.name", value: { stringValue: "invoke_agent" } }, { key: "gen_ai.agent.name", value: { stringValue: "newcomer" } }];
  const span = { traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex"), name: "invoke_agent newcomer", kind: 1, startTimeUnixNano, endTimeUnixNano: startTimeUnixNano, attributes };
  const body = JSON.stringify({ resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: "test" }, spans: [span] }] }] });
  const answer = await fetch(`${URL_OF_COLLECTOR}/v1/traces`, { method: "POST", headers: { "content-type": "application/json" }, body });
  assert.equal(answer.status, 200);
}

test("conditions are written in one line, completed, and stand in the address", async () => {
  const { page } = await open("/");
  await page.getByRole("link", { name: "support" }).first().waitFor();
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
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  await page.getByRole("cell", { name: /^\d+ 0\.4 %$/ }).waitFor(); // the context's peak, of the model's limit
  await page.getByRole("button", { name: /^text: conversation-42/ }).click();
  await page.waitForFunction(() => !location.search.includes("text="));
});

test("a run that arrives is announced, and the page does not move", async () => {
  const { page } = await open("/");
  await page.getByRole("link", { name: "support" }).first().waitFor();
  const before = await page.locator("tbody tr").count();
  await recordSpan();
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

