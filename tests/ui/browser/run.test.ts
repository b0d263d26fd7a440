import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { open, runNamed, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

const at = (page: Page) => page.getByRole("slider", { name: "Playhead" }).getAttribute("aria-valuenow").then(Number);

/** The run page at an event of the support agent, when its state is there. */
async function support(seq: number, options = {}) {
  const opened = await open(`/runs/${await runNamed("support")}?at=${seq}`, options);
  await opened.page.getByRole("region", { name: "State" }).getByText("tool_calls").waitFor();
  await opened.page.getByRole("treeitem").first().waitFor();
  return opened;
}

/** The playhead comes to an event: a key moves it before the page is drawn again. */
async function isAt(page: Page, seq: number) {
  await page.locator(`[role=slider][aria-valuenow="${seq}"]`).waitFor();
  assert.equal(await at(page), seq);
}

test("an address is a position: context, why and state are those of its event", async () => {
  const { page, problems } = await support(20);
  const stage = page.getByRole("tabpanel");
  await stage.getByText("Call of gpt-4o-mini at").waitFor();
  await stage.getByText("2 added").or(stage.getByText("3 added")).waitFor();
  const why = page.getByRole("region", { name: "Why this step" });
  await why.getByText("failed: at most 89.00 can be refunded").waitFor();
  await why.getByText("2 * 89 = 178").waitFor();
  await isAt(page, 20);
  assert.deepEqual(problems, []);
});

test("where a value was said is a link that moves the playhead, and lights the message", async () => {
  const { page } = await support(20);
  const link = page.getByRole("region", { name: "Why this step" }).getByRole("button", { name: "event 5" }).first();
  await page.getByRole("tabpanel").getByText("kept").waitFor();
  await link.hover();
  await page.locator(".msg.lit").getByText("Order A1001 has not arrived").waitFor();
  await link.click();
  await page.waitForURL(/at=5/);
  await isAt(page, 5);
});

test("keys move the playhead by events, model calls and errors", async () => {
  const { page } = await support(16);
  await page.keyboard.press("ArrowRight");
  await isAt(page, 17);
  await page.keyboard.press("Shift+ArrowRight");
  await isAt(page, 24);
  await page.keyboard.press("Home");
  await page.keyboard.press("e");
  await isAt(page, 20);
  await page.keyboard.press("End");
  await isAt(page, 40);
});

test("the hand is dragged along the timeline, and the address follows", async () => {
  const { page } = await support(2);
  const box = await page.getByRole("slider", { name: "Playhead" }).boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 2, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 20, { steps: 10 });
  await page.mouse.up();
  const there = await at(page);
  assert.ok(there > 17 && there < 24, String(there));
  await page.waitForURL(new RegExp(`at=${there}`));
});

test("a step is chosen in the tree, found by text, and panels are chosen by keys", async () => {
  const { page } = await support(2);
  await page.getByRole("textbox", { name: "Search in this run" }).fill("refund");
  await page.getByRole("treeitem", { name: /refund/ }).first().click();
  await isAt(page, 20);
  await page.getByRole("textbox", { name: "Search in this run" }).blur();
  await page.keyboard.press("2");
  await page.waitForURL(/panel=tokens/);
  await page.getByRole("img", { name: "Tokens of the context over the run" }).waitFor();
  await page.keyboard.press("4");
  await page.getByRole("tabpanel").getByText("tool_failed").first().waitFor();
  await page.goBack();
  await page.waitForURL(/panel=tokens/);
});

test("a dragged range is all that the timeline and the steps show, until 0", async () => {
  const { page } = await support(20);
  const box = await page.getByRole("slider", { name: "Playhead" }).boundingBox();
  assert.ok(box);
  const all = await page.getByRole("treeitem").count();
  const numbers = box.y + box.height + 14;
  await page.mouse.move(box.x + box.width / 4, numbers);
  await page.mouse.down();
  await page.mouse.move(box.x + (box.width * 3) / 4, numbers, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/focus=1[01]-3[01]/);
  await page.getByRole("button", { name: /^events 1[01] to 3[01]: show all$/ }).waitFor();
  assert.ok((await page.getByRole("treeitem").count()) < all);
  await page.mouse.click(box.x + 2, box.y + 20);
  assert.ok([10, 11].includes(await at(page)));
  await page.keyboard.press("0");
  await page.waitForFunction((before) => document.querySelectorAll('[role="treeitem"]').length === before, all);
  await page.keyboard.press("[");
  await page.waitForURL(/focus=1[01]-40/);
});

test("a pinned key of the state is plotted over the run, and stays pinned", async () => {
  const { page } = await support(20);
  await page.getByRole("button", { name: "Pin tool_calls" }).click();
  const line = page.getByRole("img", { name: /^tool_calls over the run: \d+ to \d+$/ });
  await line.waitFor();
  await line.click({ position: { x: 1, y: 10 } });
  await isAt(page, 1);
  await page.reload();
  await line.waitFor();
  await page.getByRole("button", { name: "Unpin tool_calls" }).click();
  await line.waitFor({ state: "detached" });
});

test("fork from here gives the command with the outcome filled in", async () => {
  const { page } = await support(28);
  await page.getByRole("button", { name: "Fork from here" }).click();
  const text = await page.getByRole("dialog").locator("pre").innerText();
  assert.match(text, /^playhead fork [0-9a-f]{32} --at 28 --outcome '\{"result": .+' -- python agent.py$/);
});

test("a run is copied as a test; a run without model calls says why there is none", async () => {
  const { page, problems } = await support(20);
  // Without a window, the browser gives its clipboard to one page only.
  await page.evaluate(() => {
    const writeText = async (text: string) => { document.body.dataset.copied = text; };
    Object.defineProperty(navigator, "clipboard", { value: { writeText } });
  });
  await page.getByRole("button", { name: "Copy as test" }).click();
  await page.getByText("The test was copied to the clipboard.").waitFor();
  const copied = (await page.locator("body").getAttribute("data-copied")) ?? "";
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${await runNamed("support")}/test`);
  assert.equal(copied, await answer.text());
  assert.match(copied, /^def test_/m);
  assert.deepEqual(problems, []);

  const { page: none } = await open(`/runs/${await runNamed("broken")}`);
  await none.getByRole("button", { name: "Copy as test" }).click();
  const sheet = none.getByRole("dialog", { name: "Copy as test" });
  await sheet.getByRole("alert").getByText("model call").waitFor();
  await sheet.getByRole("button", { name: "Close" }).click();
  await sheet.waitFor({ state: "hidden" });
});

/** As on http from another host: the browser has no clipboard for the page; what is selected when it copies is noted. */
const withoutClipboard = (page: Page, mayCopy: boolean) =>
  page.evaluate((may) => {
    Object.defineProperty(navigator, "clipboard", { value: undefined });
    if (!may) document.execCommand = () => false;
    document.addEventListener("copy", () => {
      const field = document.activeElement as HTMLTextAreaElement;
      document.body.dataset.copied = field.value.slice(field.selectionStart, field.selectionEnd);
    });
  }, mayCopy);

test("without a clipboard, the selected text is copied, also from within a dialog", async () => {
  const { page } = await support(28);
  await withoutClipboard(page, true);
  await page.getByRole("button", { name: "Fork from here" }).click();
  const sheet = page.getByRole("dialog", { name: "Fork from here" });
  await sheet.getByRole("button", { name: "Copy" }).click();
  await sheet.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.locator("body").getAttribute("data-copied"), await sheet.locator("pre").innerText());
  assert.equal(await page.locator("textarea").count(), 0);
});

test("where the browser does not copy at all, the text is shown selected", async () => {
  const { page } = await support(20);
  await withoutClipboard(page, false);
  const selected = () => page.evaluate(() => {
    const field = document.activeElement as HTMLTextAreaElement;
    return field.value.slice(field.selectionStart, field.selectionEnd);
  });
  await page.getByRole("button", { name: "Copy as test" }).click();
  const sheet = page.getByRole("dialog", { name: "Copy as test" });
  await sheet.getByRole("textbox", { name: "Text to copy" }).waitFor();
  assert.match(await selected(), /^def test_/m);
  assert.deepEqual(await violationsInBothThemes(page), []);
  await sheet.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: (await runNamed("support")).slice(-8) }).click();
  await page.getByRole("dialog", { name: "Copy" }).getByRole("textbox").waitFor();
  assert.equal(await selected(), await runNamed("support"));
});

test("a span is shown as it was received", async () => {
  const { page } = await open(`/runs/${await runNamed("support")}?at=20&panel=event`);
  await page.getByRole("button", { name: "Show the span as received" }).click();
  await page.getByRole("region", { name: "Span" }).getByText('"gen_ai.tool.name": "refund"').waitFor();
});

test("what was recorded is shown as text and never executed", async () => {
  const { page, problems } = await open(`/runs/${await runNamed("hostile")}?at=4&panel=context`);
  await page.getByRole("tabpanel").getByText("<img src=x onerror=").first().waitFor();
  await page.keyboard.press("4");
  await page.getByRole("button", { name: "show whole" }).first().click();
  assert.equal(await page.evaluate(() => (globalThis as unknown as { hurt?: boolean }).hurt), undefined);
  assert.deepEqual(problems, []);
});

test("an unknown run says so", async () => {
  const { page } = await open(`/runs/${"0".repeat(32)}`);
  await page.getByRole("alert").getByText("404").waitFor();
});

test("axe finds nothing in the run page, whatever panel is shown", async () => {
  const { page } = await support(20);
  await page.getByRole("region", { name: "Why this step" }).getByText("2 * 89 = 178").waitFor();
  for (const panel of ["Context window", "Tokens", "Event"]) {
    await page.getByRole("tab", { name: panel }).click();
    await page.getByRole("tabpanel", { name: panel }).waitFor();
    assert.deepEqual(await violationsInBothThemes(page), [], panel);
  }
});
