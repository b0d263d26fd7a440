import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { open, runNamed, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

type Event = { seq: number; kind: string; refs: Record<string, string>; data: Record<string, unknown> };

/** The ref of a content of the run `hostile`: what this tool gave, or its first message. */
async function contentOf(tool: string | null): Promise<string> {
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${await runNamed("hostile")}/events?limit=100`);
  const { items } = (await answer.json()) as { items: Event[] };
  const called = items.findIndex((event) => event.kind === "tool_called" && event.data.name === tool);
  const event = items.slice(Math.max(0, called)).find((each) => each.kind === (tool === null ? "message_added" : "tool_completed"));
  const found = event?.refs[tool === null ? "message" : "result"];
  assert.ok(found, JSON.stringify(items.map((each) => [each.kind, each.refs])));
  return found;
}

const isHurt = (page: Page) => page.evaluate(() => (globalThis as unknown as { hurt?: boolean }).hurt);

test("a content is opened from the event that names it, and says who had it", async () => {
  const { page, problems } = await open(`/runs/${await runNamed("hostile")}?at=4`);
  const recorded = page.getByRole("region", { name: "Recorded" });
  await recorded.getByRole("button", { name: /as recorded$/ }).click();
  await recorded.getByRole("link", { name: "open" }).first().click();
  await page.waitForURL(/\/content\/sha256:/);
  const seen = page.getByRole("region", { name: "Runs that had it" });
  await seen.getByRole("link", { name: "hostile" }).waitFor();
  await seen.getByRole("link", { name: /event \d+/ }).first().click();
  await page.waitForURL(/\/runs\/[0-9a-f]{32}\?at=\d+/);
  assert.deepEqual(problems.filter((line) => !line.includes("404")), []);
});

test("HTML and SVG in a content are text in every view", async () => {
  for (const tool of [null, "drawing"]) {
    const { page, problems } = await open(`/content/${await contentOf(tool)}`);
    for (const [view, region] of [["Rendered", tool === null ? "Messages" : "Text"], ["Raw", "Text"], ["JSON", "Text"]] as const) {
      await page.getByRole("button", { name: view, exact: true }).click();
      await page.getByRole("region", { name: region }).getByText("<img src=x onerror=").waitFor();
    }
    await page.getByRole("button", { name: "Hex", exact: true }).click();
    await page.waitForURL(/view=hex/);
    await page.getByRole("region", { name: "Bytes" }).getByText("00000000  7b 22").waitFor();
    assert.equal(await isHurt(page), undefined);
    assert.equal(await page.locator("main img, main svg").count(), 0);
    assert.deepEqual(problems, []);
  }
});

test("a secret that was masked is shown as such", async () => {
  const { page } = await open(`/content/${await contentOf("account")}?view=raw`);
  await page.getByTitle(/^masked before it was recorded/).getByText("$masked").waitFor();
});

test("a large content is read by range, drawn where it is looked at, and searched to its end", async () => {
  const { page } = await open("/");
  const ranges: string[] = [];
  page.on("request", (request) => { const range = request.headers().range; if (range !== undefined) ranges.push(range); });
  await page.goto(`${URL_OF_COLLECTOR}/content/${await contentOf("log_of_a_day")}?view=raw`);
  const text = page.getByRole("region", { name: "Text" });
  await text.getByText("line 000003").waitFor();
  assert.deepEqual(ranges, ["bytes=0-131071"]);
  assert.ok((await text.locator(".line").count()) < 120);
  await page.getByRole("textbox", { name: "Search in this content" }).fill("NEEDLE");
  await text.locator("mark").getByText("needle").waitFor();
  await page.getByText("1 of 1").waitFor();
  await page.waitForURL(/find=NEEDLE/);
  await page.getByRole("button", { name: "Hex", exact: true }).click();
  const bytes = page.getByRole("region", { name: "Bytes" });
  await bytes.getByText("00000000  6c 69 6e 65").waitFor();
  await bytes.evaluate((box) => { box.scrollTop = box.scrollHeight; });
  await bytes.getByText("hay").first().waitFor();
  assert.ok((await bytes.locator(".line").count()) < 120);
});

test("two contents are compared, and what is no ref says so", async () => {
  const { page } = await open(`/content/${await contentOf("drawing")}`);
  const other = page.getByRole("textbox", { name: "Compare with another content" });
  await other.fill("sha256:12");
  await page.getByText("A ref is").waitFor();
  await other.fill(await contentOf("account"));
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.locator("del").getByText("− ").first().waitFor();
  await page.locator("ins").getByText("Maria Lopez").waitFor();
  await page.waitForURL(/diff=sha256/);
  assert.deepEqual(await violationsInBothThemes(page), []);
});

test("a content is downloaded as it was recorded, and an unknown one says so", async () => {
  const { page } = await open(`/content/${await contentOf("account")}`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).click()]);
  assert.match(download.suggestedFilename(), /\.json$/);
  const { page: unknown } = await open(`/content/sha256:${"0".repeat(64)}`);
  await unknown.getByRole("alert").getByText("404").waitFor();
});

test("axe finds nothing in a content", async () => {
  const { page } = await open(`/content/${await contentOf("account")}?find=maria`);
  await page.locator("mark").getByText("Maria").waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
});
