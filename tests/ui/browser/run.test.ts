// The run page: where it opens, the verdict, the turns, one turn, and what its keys and its address do.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { noted, open, runNamed, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

const turn = (page: Page, number: number) => page.getByRole("article", { name: `Turn ${number}`, exact: true });
const verdict = (page: Page) => page.getByRole("region", { name: "Verdict" });
const turns = (page: Page) => page.getByRole("listbox", { name: "Turns" });

/** The page of a run, when its turn is there. */
async function at(run: string, query: string, number: number | null, options = {}) {
  const opened = await open(`/runs/${run}${query}`, options);
  await (number === null ? opened.page.getByRole("article") : turn(opened.page, number)).waitFor();
  return opened;
}

// --- where it opens, and the verdict ----------------------------------------------------------------------------------

test("a failed run opens at its first suspect, and says how often such a rule is right", async () => {
  const { page, problems } = await at(await runNamed("rail_desk", "failed"), "", 7);
  await verdict(page).getByText("First suspect:").waitFor();
  await verdict(page).getByText(/right in \d+ of \d+/).first().waitFor();
  assert.equal(await page.getByText("Nothing was decided").count(), 0);
  const answered = turn(page, 7).getByRole("region", { name: "Answered" });
  await answered.locator("mark", { hasText: "98" }).waitFor();
  await answered.getByRole("row", { name: /69 least/ }).waitFor();
  const [first, second] = await verdict(page).getByRole("listitem").allInnerTexts();
  assert.match(first ?? "", /said at turn 7, read at turn 6/);
  assert.match(second ?? "", /done at turn 8 · compare with the run that succeeded/);
  assert.deepEqual(await violationsInBothThemes(page), []);
  assert.deepEqual(problems, []);
});

test("a run that nobody scored is not called a success, and says what can be done", async () => {
  const run = await runNamed("rail_desk", "unknown");
  const { page } = await at(run, "", 1);
  await verdict(page).getByText("nobody scored it", { exact: false }).waitFor();
  await verdict(page).getByRole("button", { name: "Score it…" }).click();
  const form = page.getByRole("form", { name: "Score" });
  await form.getByRole("textbox", { name: "Score" }).fill("seen");
  await form.getByRole("textbox", { name: "Value" }).fill("read");
  await form.getByRole("textbox", { name: "Your name" }).fill("ada");
  await form.getByRole("button", { name: "Save" }).click();
  await form.waitFor({ state: "detached" });
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${run}/scores?name=seen`);
  const { items } = (await answer.json()) as { items: { value: string; author: string }[] };
  assert.deepEqual(items.map(({ value, author }) => [value, author]), [["read", "ada"]]);
});

test("a crashed run has its agents as groups: the one that raised comes first, and is red", async () => {
  const { page } = await at(await runNamed("release_check", "crashed"), "", 3);
  const rows = turns(page).getByRole("option");
  const texts = await rows.allInnerTexts();
  const raised = texts.findIndex((text) => /checker/.test(text) && /raised/.test(text));
  const quiet = texts.findIndex((text) => /checker/.test(text) && !/raised/.test(text));
  assert.ok(raised >= 0 && raised < quiet, texts.join(" | "));
  const colour = await rows.nth(raised).locator("bdi").first().evaluate((name) => getComputedStyle(name).color);
  assert.notEqual(colour, await rows.nth(quiet).locator("bdi").first().evaluate((name) => getComputedStyle(name).color));
  await turn(page, 3).getByRole("group", { name: "Stack" }).getByText(/raise ConnectionError/).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
});

// --- moving, and the address ------------------------------------------------------------------------------------------

test("keys go by turns, errors and suspects; back goes through the moments", async () => {
  const { page } = await at(await runNamed("rail_desk", "failed"), "?at=1", 1);
  await verdict(page).getByText("First suspect:").waitFor();
  /** Presses the key, and waits until the address has the moment of that turn. */
  const press = async (key: string, number: number) => {
    const before = page.url();
    await page.keyboard.press(key);
    await turn(page, number).waitFor();
    await page.waitForFunction((url) => location.href !== url, before);
  };
  await press("s", 7);
  await press("ArrowLeft", 6);
  await press("End", 9);
  await page.goBack();
  await turn(page, 6).waitFor();
  await page.goBack();
  await turn(page, 7).waitFor();
  await press("Home", 1);
});

test("the list of turns is one stop of the Tab key, and arrows move within it", async () => {
  const { page } = await at(await runNamed("rail_desk", "failed"), "?at=1", 1);
  assert.equal(await turns(page).locator("[tabindex='0'], button, a").count(), 0);
  await turns(page).focus();
  await page.keyboard.press("ArrowDown");
  await turn(page, 2).waitFor();
  const current = turns(page).getByRole("option", { selected: true });
  assert.match(await current.innerText(), /get_traveller\(nora_lindt_4471\)/);
  assert.equal(await turns(page).getAttribute("aria-activedescendant"), await current.getAttribute("id"));
});

test("the verdict folds into one line, and the conversation keeps the turn", async () => {
  const { page } = await at(await runNamed("rail_desk", "failed"), "", 7);
  await page.keyboard.press("v");
  await verdict(page).getByRole("button", { name: /^Unfold the verdict/ }).waitFor();
  await page.getByRole("button", { name: "Conversation" }).click();
  const talk = page.getByRole("region", { name: "Conversation" });
  await talk.getByText("The total is €98").waitFor();
  await page.waitForURL(/view=conversation/);
  await talk.getByRole("button", { name: /1 tool call/ }).first().waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.keyboard.press("t");
  await turn(page, 7).waitFor();
});

// --- one turn ---------------------------------------------------------------------------------------------------------

test("arguments stand with where their values come from, and what was seen is a click away, in order", async () => {
  const { page } = await at(await runNamed("rail_desk", "failed"), "?at=42", 8);
  const called = turn(page, 8).getByRole("region", { name: "Called" });
  await called.getByText("said by the user").first().waitFor();
  await called.getByText("“K7QM2X, please.”").waitFor();
  await page.keyboard.press("o");
  const context = turn(page, 8).getByRole("list", { name: "The context in order" });
  await context.getByText("You change bookings of a railway").first().waitFor();
  const saw = turn(page, 8).getByRole("region", { name: "Saw" });
  // The same size in the bar and in the list, which says that it is an estimate.
  const [, system] = /system ([\d,]+)/.exec(await saw.innerText()) ?? [];
  assert.match(await context.getByRole("listitem").nth(1).innerText(), new RegExp(`~${system}$`));
  const roles = await context.locator("li > b").allInnerTexts();
  assert.deepEqual(roles.slice(0, 4), ["tools", "system", "user", "assistant"]);
  assert.match(await saw.innerText(), /sizes of parts are estimates/);
  assert.deepEqual(await violationsInBothThemes(page), []);
});

test("a value that was built from others is not called invented", async () => {
  const { page } = await at(await runNamed("rail_desk", "succeeded"), "?at=35", 7);
  const called = turn(page, 7).getByRole("region", { name: "Called" });
  await called.getByText('"35 + 34"').waitFor();
  await called.getByText(/^derived \(/).waitFor();
  assert.doesNotMatch(await called.innerText(), /invented|no origin/);
  const made = await at(await runNamed("tour_desk"), "?at=27", 6);
  await turn(made.page, 6).getByRole("region", { name: "Called" }).getByText("invented: stands nowhere before").first().waitFor();
});

test("a note about a turn stays with it, and is deleted", async () => {
  const { page } = await at(await runNamed("rail_desk", "succeeded"), "", 10);
  const notes = turn(page, 10).getByRole("region", { name: "Notes" });
  await notes.getByRole("button", { name: "Note…" }).click();
  await notes.getByRole("textbox", { name: "Note" }).fill("It is <b>right</b>.");
  await notes.getByRole("textbox", { name: "Label" }).fill("as it should be");
  await notes.getByRole("button", { name: "Save" }).click();
  await notes.getByText("It is <b>right</b>.").waitFor();
  await page.reload();
  await notes.getByText("as it should be").waitFor();
  await notes.getByRole("button", { name: "delete" }).click();
  await notes.getByText("as it should be").waitFor({ state: "detached" });
});

test("images are drawn, Markdown is rendered, and the switch shows the text and the JSON", async () => {
  const { page, problems } = await at(await runNamed("photo_desk"), "", 1);
  const answered = turn(page, 1).getByRole("region", { name: "Answered" });
  await answered.locator("strong, table, li").first().waitFor();
  await answered.getByRole("button", { name: "JSON" }).click();
  await answered.getByText('"parts"').waitFor();
  await page.keyboard.press("o");
  await turn(page, 1).locator("img[src^='data:image/']").first().waitFor();
  assert.deepEqual(problems, []);
});

// --- finding ----------------------------------------------------------------------------------------------------------

test("a text is found in results beyond their beginning, with next and previous; nothing found is said", async () => {
  const { page } = await at(await runNamed("rail_desk", "failed"), "?at=1", 1);
  await page.keyboard.press("f");
  const field = page.getByRole("searchbox", { name: "Find in this run" });
  await field.fill("rx304"); // in the last entry of a listing of 1,600 characters
  const bar = page.getByRole("search", { name: "In this run" });
  await bar.getByRole("status").getByText("1 of 1").waitFor();
  await turn(page, 6).locator("mark", { hasText: "RX304" }).first().waitFor();
  await field.fill("K7QM2X");
  await bar.getByRole("status").getByText(/^\d+ of ([2-9]|\d\d)/).waitFor();
  const before = await bar.getByRole("status").innerText();
  await field.press("Enter");
  await page.waitForFunction((text) => document.querySelector('[role="search"] [role="status"]')?.textContent !== text, before);
  await field.fill("no such thing");
  await bar.getByRole("status").getByText("“no such thing” stands nowhere in this run.").waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await field.press("Escape");
  await bar.waitFor({ state: "detached" });
});

// --- acts -------------------------------------------------------------------------------------------------------------

test("fork from here gives the command with the outcome filled in", async () => {
  const { page } = await at(await runNamed("support"), "?at=28", null);
  await page.getByRole("button", { name: "More about this run" }).click();
  await page.getByRole("button", { name: "Fork from here…" }).click();
  const command = page.getByRole("dialog", { name: "Fork from here" }).getByLabel("Command");
  await command.getByText("--at 28").waitFor();
  assert.match(await command.innerText(), /^playhead fork [0-9a-f]{32} --at 28 --outcome '\{"result": .+' -- python agent.py$/);
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

test("a link to this moment, and the run as a test, are copied on plain HTTP", async () => {
  const run = await runNamed("rail_desk", "failed");
  const { page } = await at(run, "", 7);
  await withoutClipboard(page, true);
  const copied = () => page.locator("body").getAttribute("data-copied");
  await turn(page, 7).getByRole("button", { name: "Copy link to this moment" }).click();
  await page.waitForFunction(() => document.body.dataset.copied !== undefined);
  assert.equal(await copied(), `${URL_OF_COLLECTOR}/runs/${run}?at=35`);
  await page.getByRole("button", { name: "More about this run" }).click();
  await page.getByRole("button", { name: "Copy as test…" }).click();
  const sheet = page.getByRole("dialog", { name: "Copy as test" });
  const isSaid = await noted(page, "button", "Copied");
  await sheet.getByRole("button", { name: "Copy the test" }).click();
  await isSaid();
  assert.match((await copied()) ?? "", /^def test_/m);
});

test("a run without model calls says why no test can be made of it, and shows its events", async () => {
  const { page } = await open(`/runs/${await runNamed("broken")}`);
  await verdict(page).getByText("ValueError: this agent fails").waitFor();
  await page.getByText("No model call was recorded in this run.").waitFor();
  await page.getByRole("button", { name: "More about this run" }).click();
  await page.getByRole("button", { name: "Copy as test…" }).click();
  await page.getByRole("dialog").getByRole("alert").getByText("model call").waitFor();
});

test("the decision tree, and all causes of a turn, are a click away", async () => {
  const { page } = await at(await runNamed("rail_desk", "failed"), "?at=42", 8);
  await turn(page, 8).getByRole("button", { name: "all its causes" }).click();
  await turn(page, 8).getByRole("list", { name: "Causes" }).getByRole("link").first().waitFor();
  await page.getByRole("button", { name: "More about this run" }).click();
  await page.getByRole("button", { name: "Decision tree…" }).click();
  const sheet = page.getByRole("dialog", { name: "Decision tree" });
  await sheet.getByRole("link", { name: "turn 2" }).first().click();
  await turn(page, 2).waitFor();
});

test("an event is shown as it was recorded, with its span as it was received", async () => {
  const { page } = await at(await runNamed("support"), "?at=20", null);
  const recorded = page.getByRole("article").getByRole("region", { name: "Recorded" });
  await recorded.getByRole("button", { name: /event 20 as recorded/ }).click();
  await recorded.getByRole("button", { name: "Show the span as received" }).click();
  await recorded.getByText('"gen_ai.tool.name": "refund"').waitFor();
});

// --- what comes from outside ------------------------------------------------------------------------------------------

test("what was recorded is shown as text and never executed", async () => {
  const { page, problems } = await at(await runNamed("hostile"), "", 1);
  await turn(page, 1).getByText("<img src=x onerror=").first().waitFor();
  await page.keyboard.press("o");
  await turn(page, 1).getByRole("list", { name: "The context in order" }).getByText("<img src=x onerror=").first().waitFor();
  assert.equal(await page.evaluate(() => (globalThis as unknown as { hurt?: boolean }).hurt), undefined);
  assert.deepEqual(problems, []);
});

test("an unknown run says so", async () => {
  const { page } = await open(`/runs/${"0".repeat(32)}`);
  await page.getByRole("alert").getByText("404").waitFor();
});

// --- narrow screens ---------------------------------------------------------------------------------------------------

for (const width of [390, 720])
  test(`${width} px wide, the page has one axis of scrolling, and turns are within reach`, async () => {
    const { page } = await at(await runNamed("rail_desk", "failed"), "", 7, { viewport: { width, height: 844 } });
    const right = await page.locator("main").evaluate((main) => main.getBoundingClientRect().right);
    const inner = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(Math.max(right, inner) <= width, `${right} and ${inner} px of ${width}`);
    const answered = await turn(page, 7).getByRole("region", { name: "Answered" }).boundingBox();
    assert.ok((answered?.width ?? 0) > 300, JSON.stringify(answered));
    await page.getByRole("heading", { level: 1, name: "rail_desk" }).waitFor();
    if (width > 620) return;
    await page.getByRole("button", { name: "Turn 7 of 9" }).click();
    await page.getByRole("dialog", { name: "Turns" }).getByRole("option", { name: /get_booking/ }).click();
    await turn(page, 4).waitFor();
    assert.deepEqual(await violationsInBothThemes(page), []);
  });

test("a score that failed to be sent stays in its form, is sent again, and is in the verdict at once", async () => {
  const id = await runNamed("chat");
  const { page } = await open(`/runs/${id}`);
  await verdict(page).getByText("nobody scored it", { exact: false }).waitFor();
  await verdict(page).getByRole("button", { name: "Score it…" }).click();
  const form = verdict(page).getByRole("form", { name: "Score" });
  await form.getByRole("textbox", { name: "Value" }).fill("1");
  await form.getByRole("textbox", { name: "Why" }).fill("it is booked");
  await page.route("**/scores", (route) => route.abort());
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByRole("alert").waitFor();
  await page.unroute("**/scores");
  assert.equal(await form.getByRole("textbox", { name: "Why" }).inputValue(), "it is booked");
  await form.getByRole("button", { name: "Save" }).click();
  await verdict(page).getByText("Succeeded").waitFor();
  await page.getByRole("main").getByText("reward 1").first().waitFor();
});

test("a note that failed to be sent stays in its form, and is sent again", async () => {
  const { page } = await open(`/runs/${await runNamed("chat")}`);
  const notes = page.getByRole("article").getByRole("region", { name: "Notes" });
  await notes.getByRole("button", { name: "Note…" }).click();
  await notes.getByRole("textbox", { name: "Note" }).fill("asked for twice");
  await page.route("**/notes", (route) => (route.request().method() === "POST" ? route.abort() : route.continue()));
  await notes.getByRole("button", { name: "Save" }).click();
  await notes.getByRole("alert").waitFor();
  await page.unroute("**/notes");
  await notes.getByRole("button", { name: "Save" }).click();
  await notes.getByText("asked for twice").waitFor();
  assert.equal(await notes.getByRole("form").count(), 0);
});

test("at 200 % zoom the page is one column that scrolls, and nothing is wider than it", async () => {
  const { page } = await open(`/runs/${await runNamed("rail_desk")}`, { viewport: { width: 720, height: 450 } });
  await page.getByRole("button", { name: /^Turn \d+ of \d+/ }).waitFor();
  const box = await page.getByRole("article").boundingBox();
  assert.ok(box !== null && box.width > 600 && box.height > 450, JSON.stringify(box));
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 720);
});
