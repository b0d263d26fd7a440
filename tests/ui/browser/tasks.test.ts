// What people come for, from the list of runs, and in how few actions. Where two runs part: compare.test.ts; a word in a long run: large.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { type Locator, type Page } from "playwright-core";

import { open, runNamed } from "./support/browser.ts";
import { counted } from "./support/counted.ts";
import { answered, ended, runOf, start } from "./support/programs.ts";

const LONGEST_MS = 150_000;
/** Of the page, in px. */
const HEIGHT = 900;
/** The word of the verdict, with its mark. */
const RUNNING = /^●?\s*Running$/;

/** Where it stands on the screen, in px. */
async function placed(what: Locator) {
  await what.waitFor();
  const box = await what.boundingBox();
  assert.ok(box !== null);
  return box;
}

/** The link to the first run of this name with this outcome. */
const linkTo = (page: Page, name: string, outcome: string) =>
  page
    .locator("tbody tr", { hasText: outcome })
    .filter({ has: page.getByRole("link", { name, exact: true }) })
    .first()
    .getByRole("link", { name, exact: true });

test("why did this run fail? One click to the step that said it and to what it contradicts, two to where that stood", async () => {
  const { page, problems } = await open("/");
  const { act, atMost } = counted();
  await act(linkTo(page, "rail_desk", "failed").click());
  const finding = "an entry of the listing costs 69 (prices.standard); the answer has 98 as the least";
  const verdict = page.getByRole("region", { name: "Verdict" });
  await verdict.getByText(/^✕?\s*Failed$/).waitFor();
  await verdict.getByText(finding).waitFor();
  assert.equal(await page.getByText("Nothing was decided").count(), 0);
  // What was said is marked in the answer; the entry that contradicts it, with its value, stands to the right of it.
  const answered = page.getByRole("article", { name: "Turn 7" }).getByRole("region", { name: "Answered" });
  await answered.getByText(finding).waitFor();
  await answered.locator("strong").first().waitFor(); // as Markdown, in the place of its text
  await answered.locator("mark", { hasText: "98" }).first().waitFor();
  const said = await placed(answered.locator("mark").first());
  const least = answered.getByRole("row", { name: /69 least/ });
  const entry = await placed(least);
  assert.ok(entry.x > said.x + said.width, "beside it");
  assert.ok(said.y > 0 && said.y + said.height < HEIGHT && entry.y > 0 && entry.y + entry.height < HEIGHT, "both in view");
  assert.match(await least.innerText(), /RX110.*RX172/s);
  atMost(1);
  await act(answered.getByText("read at turn 6").getByRole("link", { name: "turn 6" }).click());
  const turn = page.getByRole("article", { name: "Turn 6" });
  await turn.getByRole("heading", { name: /search_connections\(Graz, Brno, 2026-05-24\)/ }).waitFor();
  await turn.getByRole("region", { name: "Got back" }).getByText(/RX110/).first().waitFor();
  atMost(2);
  await page.goBack();
  await page.getByRole("article", { name: "Turn 7" }).waitFor();
  assert.deepEqual(problems, []);
});

test("the error of a crashed run: one click to what was raised, where, and what it came from", async () => {
  const { page } = await open("/");
  const { act, atMost } = counted();
  await act(linkTo(page, "release_check", "crashed").click());
  const verdict = page.getByRole("region", { name: "Verdict" });
  await verdict.getByText(/ConnectionError: the metrics store at metrics\.internal:9090 does not answer/).waitFor();
  await verdict.getByText(/TimeoutError: no answer within 2 s/).waitFor();
  await verdict.getByText(/scored_runs\.py, line \d+, in query/).waitFor();
  await page.getByRole("article", { name: "Turn 3" }).getByRole("region", { name: "Raised" }).waitFor();
  atMost(1);
});

test("which runs called this tool with this argument? Found by search, at its step", async () => {
  await answered<{ items: unknown[] }>("/search/decisions?tool=change_booking&argument=booking_id%3DK7QM2X", ({ items }) => items.length >= 4, LONGEST_MS);
  const { page } = await open("/");
  const { act, atMost } = counted();
  await act(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Search" }).click());
  await act(page.getByRole("textbox", { name: "tool" }).fill("change_booking"));
  await page.keyboard.press("Enter");
  await page.waitForURL(/tool=change_booking/);
  await act(page.getByRole("textbox", { name: "argument" }).fill("booking_id=K7QM2X"));
  await page.keyboard.press("Enter");
  await page.waitForURL(/argument=booking_id/);
  await act(page.getByRole("region", { name: "Results" }).getByRole("link", { name: "change_booking" }).first().click());
  await page.getByRole("article", { name: /^Turn (8|9)$/ }).getByRole("heading", { name: /change_booking\(K7QM2X/ }).waitFor();
  atMost(4);
});

test("an approval is given on the run's page, and the run goes on to its end", async () => {
  const program = start("PLAYHEAD_UI_CHANGE");
  const run = await runOf(program);
  await answered<{ outcome: { word: string } }>(`/runs/${run}`, ({ outcome }) => outcome.word === "waiting");
  const { page } = await open("/");
  const { act, atMost } = counted();
  await act(linkTo(page, "code_helper", "waits").click());
  await page.waitForURL(new RegExp(`/runs/${run}`));
  const verdict = page.getByRole("region", { name: "Verdict" });
  await verdict.getByText("Waits for you").waitFor();
  await verdict.getByRole("group", { name: "The change" }).getByText("return total").first().waitFor();
  const asked = page.getByRole("region", { name: "Asked for" });
  assert.match(await asked.innerText(), /" {4}return total \* discount"/); // its spaces, too
  await act(verdict.getByRole("textbox", { name: "Your name" }).fill("ada"));
  await act(verdict.getByRole("button", { name: "Approve" }).click());
  atMost(3);
  assert.equal(await ended(program), 0);
  await page.getByRole("listbox", { name: "Turns" }).getByRole("option", { name: /Fixed: a discount of 10 % now leaves 90 %/ }).waitFor();
  await verdict.getByText("Waits for you").waitFor({ state: "detached" });
  assert.equal(await verdict.getByText("Waits for you").count(), 0);
});

test("a recorded call is edited and asked again, with the recorded answer beside it", async () => {
  const { page } = await open(`/runs/${await runNamed("rail_desk")}`);
  const { act, atMost } = counted();
  await page.getByRole("article", { name: "Turn 7" }).waitFor();
  await act(page.getByRole("link", { name: "Edit and ask again" }).click());
  await page.getByRole("heading", { level: 1, name: "Ask turn 7 again" }).waitFor();
  await page.getByRole("region", { name: "Recorded" }).getByText("The total is €98").waitFor();
  await act(page.getByRole("region", { name: "What is asked" }).getByRole("button", { name: /user/ }).last().click());
  await act(page.getByRole("textbox", { name: "user message" }).last().fill("Add up both trains of each connection first."));
  await act(page.getByRole("button", { name: /^Ask/ }).click());
  await page.getByRole("region", { name: "Asked again" }).getByText("RX110 and RX172 together cost €69").first().waitFor();
  atMost(4);
});

/** The messages of the question that is sent next. */
async function sentMessages(page: Page): Promise<{ role: string; content: unknown }[]> {
  const request = await page.waitForRequest((each) => each.method() === "POST" && each.url().endsWith("/ask-again"));
  return (request.postDataJSON() as { messages: { role: string; content: unknown }[] }).messages;
}

test("the call after a compression is asked again with all messages, as if nothing had been cut", async () => {
  const { page } = await open(`/runs/${await runNamed("tour_desk")}?at=27`);
  await page.getByRole("article", { name: "Turn 6" }).getByRole("link", { name: "Ask turn 6 again with all messages" }).click();
  await page.getByRole("heading", { level: 1, name: "Ask turn 6 again with all 10 messages" }).waitFor();
  const asked = page.getByRole("region", { name: "What is asked" });
  assert.equal(await asked.getByText("Summary so far").count(), 0);
  const sent = sentMessages(page);
  await asked.getByRole("button", { name: /^Ask/ }).click();
  const texts = (await sent).map((message) => String(message.content));
  assert.ok(texts.some((text) => text.includes("SALT-7741-QX")), "what was lost is there again");
  assert.ok(texts.at(-1)?.startsWith("Good. Please reserve the tour"), texts.at(-1));
  await page.getByRole("region", { name: "Recorded" }).getByText("reserve_tour(").waitFor();
  await page.getByRole("region", { name: "Asked again" }).getByText("RX110 and RX172 together cost €69").first().waitFor();
});

test("a summary is edited, asked again beside the recorded answer, and forked", async () => {
  const { page } = await open(`/runs/${await runNamed("tour_desk")}?at=27`);
  const { act, atMost } = counted();
  await act(page.getByRole("article", { name: "Turn 6" }).getByRole("link", { name: "Edit the summary and fork from here" }).click());
  const text = page.getByRole("textbox", { name: "user message" });
  assert.match(await text.inputValue(), /^Summary so far/);
  assert.ok(await text.evaluate((box) => box === document.activeElement), "the summary is what is edited");
  const summary = "Summary so far: Nora and Tom Lindt want the salt mine at 13:00; their voucher is SALT-7741-QX.";
  await act(text.fill(summary));
  const sent = sentMessages(page);
  await act(page.getByRole("button", { name: /^Ask/ }).click());
  assert.deepEqual((await sent)[1], { role: "user", content: summary });
  await page.getByRole("region", { name: "Asked again" }).getByText("3 answers", { exact: true }).waitFor();
  await act(page.getByRole("button", { name: "Fork from here with these changes" }).click());
  const command = await page.getByRole("dialog").getByLabel("Command").innerText();
  assert.match(command, /^playhead fork [0-9a-f]{32} --at \d+ --outcome '/);
  assert.deepEqual(JSON.parse(command.split("'")[1] ?? ""), { messages: { 1: summary } });
  atMost(4);
});

test("a live run is followed to its end", async () => {
  const program = start("PLAYHEAD_UI_WAITING");
  const run = await runOf(program);
  await answered<{ items: { kind: string }[] }>(`/runs/${run}/events`, ({ items }) => items.some((event) => event.kind === "tool_completed"));
  const { page } = await open(`/runs/${run}`);
  const verdict = page.getByRole("region", { name: "Verdict" });
  await verdict.getByText(RUNNING).waitFor();
  const turns = page.getByRole("listbox", { name: "Turns" });
  await turns.getByRole("option", { name: /step\(first\)/ }).waitFor();
  program.process.stdin.write("second\n");
  await turns.getByRole("option", { name: /step\(second\)/ }).waitFor();
  program.process.stdin.end();
  assert.equal(await ended(program), 0);
  await verdict.getByText(RUNNING).waitFor({ state: "detached" });
  await page.getByRole("region", { name: "The run" }).getByText("completed").waitFor();
});

test("which value in this tool call was invented?", async () => {
  const { page } = await open("/");
  const { act, atMost } = counted();
  await act(linkTo(page, "tour_desk", "failed").click());
  await act(page.getByRole("listbox", { name: "Turns" }).getByRole("option", { name: /reserve_tour/ }).click());
  const called = page.getByRole("article").getByRole("region", { name: "Called" });
  await called.getByText("SALT-2026").first().waitFor();
  await called.getByText("invented").first().waitFor();
  atMost(2);
});

test("what did the compression lose that was needed later?", async () => {
  const { page } = await open("/");
  const { act, atMost } = counted();
  await act(linkTo(page, "tour_desk", "failed").click());
  await act(page.getByRole("listbox", { name: "Turns" }).getByRole("option", { name: /7 messages summarised/ }).click());
  await page.getByRole("article").getByText("SALT-7741-QX").first().waitFor();
  atMost(2);
});
