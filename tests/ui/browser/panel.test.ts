// The panel below the turn: the run over time, as lanes, calls, agents and tokens; and a turn whose context was cut.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { open, runNamed, URL_OF_COLLECTOR } from "./support/browser.ts";
import { answered } from "./support/programs.ts";
import { recordCalls } from "./support/spans.ts";

const slider = (page: Page) => page.getByRole("slider", { name: "Playhead" });
const valueText = (page: Page) => slider(page).getAttribute("aria-valuetext");

/** The run page of a run, when its timeline is there. */
async function run(name: string, query = "") {
  const opened = await open(`/runs/${await runNamed(name)}${query}`);
  await opened.page.getByRole("tablist", { name: "Views of the time" }).waitFor();
  return opened;
}

async function isAtTurn(page: Page, turn: number) {
  await page.waitForFunction((turn) => document.querySelector('[role="slider"]')?.getAttribute("aria-valuenow") === String(turn), turn);
}

test("the playhead is a slider that says its turn, and goes by turns, by tens and to the first", async () => {
  const { page, problems } = await run("rail_desk", "?at=1");
  await page.waitForFunction(() => Number(document.querySelector('[role="slider"]')?.getAttribute("aria-valuemax")) > 1); // its turns are known
  await slider(page).focus();
  await page.keyboard.press("Home");
  await isAtTurn(page, 1);
  await page.keyboard.press("ArrowRight");
  await isAtTurn(page, 2);
  assert.match((await valueText(page)) ?? "", /^turn 2 of \d+, /);
  await page.keyboard.press("PageDown");
  const last = Number(await slider(page).getAttribute("aria-valuemax"));
  await isAtTurn(page, last);
  await page.keyboard.press("PageUp");
  await page.keyboard.press("PageUp");
  await isAtTurn(page, 1);
  assert.deepEqual(problems, []);
});

test("dragging over the lanes moves the playhead through the run", async () => {
  const { page } = await run("rail_desk", "?at=1");
  await slider(page).waitFor();
  const room = await slider(page).boundingBox();
  assert.ok(room !== null);
  await page.mouse.move(room.x + 5, room.y + 8);
  await page.mouse.down();
  await page.mouse.move(room.x + room.width - 2, room.y + 8, { steps: 8 });
  await page.mouse.up();
  await isAtTurn(page, Number(await slider(page).getAttribute("aria-valuemax")));
});

test("a part of the run is chosen by dragging with Shift, is in the address, and 0 shows all again", async () => {
  const { page } = await run("rail_desk", "?at=1");
  await slider(page).waitFor();
  const room = await slider(page).boundingBox();
  assert.ok(room !== null);
  await page.keyboard.down("Shift");
  await page.mouse.move(room.x + room.width * 0.3, room.y + 8);
  await page.mouse.down();
  await page.mouse.move(room.x + room.width * 0.8, room.y + 8, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await page.getByRole("button", { name: /show all/ }).waitFor();
  await page.waitForFunction(() => /range=\d+-\d+/.test(location.search));
  await page.keyboard.press("0");
  await page.getByRole("button", { name: /show all/ }).waitFor({ state: "detached" });
});

test("time in which a call was under way is not folded, however long it was; idle time is", async () => {
  await recordCalls("slow_desk", [[0, 40_000], [40_100, 80_000], [80_200, 81_000]]);
  await recordCalls("idle_desk", [[0, 1_000], [101_000, 102_000], [102_000, 103_000]]);
  const folds = async (name: string) => {
    await answered<{ items: { llm_calls: number }[] }>(`/runs?text=${name}`, ({ items }) => items[0]?.llm_calls === 3);
    const { page } = await run(name);
    await page.getByText(/^3 turns, /).waitFor();
    return page.getByTitle(/idle, folded$/).evaluateAll((all) => all.map((each) => each.getAttribute("title")));
  };
  assert.deepEqual(await folds("slow_desk"), []);
  assert.deepEqual(await folds("idle_desk"), ["1 min 40 s idle, folded"]);
});

test("the arrow keys go through the views, and the tab that is chosen keeps the focus", async () => {
  const { page } = await run("rail_desk", "?at=1");
  await slider(page).waitFor();
  await page.getByRole("tab", { name: "Timeline" }).focus();
  for (const [key, name] of [["ArrowRight", "Waterfall"], ["ArrowRight", "Agents"], ["End", "Tokens"], ["ArrowRight", "Timeline"]] as const) {
    await page.keyboard.press(key);
    await page.getByRole("tab", { name, selected: true }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), name);
  }
});

test("the waterfall nests the calls, has the agent that raised first, and says what was lost", async () => {
  const { page } = await run("release_check", "?panel=waterfall");
  const rows = page.getByRole("tree", { name: "Calls in time" }).getByRole("treeitem");
  await rows.first().waitFor();
  assert.deepEqual(await rows.evaluateAll((all) => all.slice(0, 2).map((row) => row.getAttribute("aria-level"))), ["1", "2"]);
  assert.match((await rows.nth(1).textContent()) ?? "", /checker.*failed/);
  assert.equal(await page.getByText("finished, its answer was lost").count(), 2);
  await page.getByText(/the longest path is checker/).waitFor();
  const all = await rows.count();
  await page.getByRole("button", { name: /^longest path/ }).click();
  await page.waitForFunction((all) => document.querySelectorAll('[role="tree"][aria-label="Calls in time"] [role="treeitem"]').length < all, all);
  await page.getByRole("tree", { name: "Calls in time" }).focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.querySelectorAll('[role="tree"][aria-label="Calls in time"] [role="treeitem"]').length === 1);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("z");
  await page.getByRole("button", { name: /show all/ }).waitFor();
});

test("the agents of a run are a table of what each did", async () => {
  const { page } = await run("release_check", "?panel=agents");
  const row = page.getByRole("row", { name: /checker/ });
  await row.waitFor();
  assert.match((await row.textContent()) ?? "", /3 times.*raised/);
});

test("tokens are a column per call, with the cut and what was needed of it; a click goes to the turn", async () => {
  const { page, problems } = await run("tour_desk", "?panel=tokens&at=1");
  const column = (turn: number) => page.getByRole("button", { name: new RegExp(`^turn ${turn}: [\\d,]+ tokens`) });
  await column(1).waitFor();
  await page.getByText(/cut: \d+ → \d+, 1 fact needed later/).waitFor();
  await column(6).click();
  await page.getByRole("region", { name: "The turn under the playhead" }).getByText("turn 6").waitFor();
  await page.getByRole("button", { name: "to the window" }).click();
  await page.getByText(/window 128,000$/).waitFor();
  assert.deepEqual(problems, []);
});

test("a turn whose context was cut says what went, what was needed later, and who wrote the summary", async () => {
  const id = await runNamed("tour_desk");
  const { items } = (await (await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${id}/compressions`)).json()) as { items: { call: number }[] };
  const { page, problems } = await run("tour_desk", `?at=${items[0]?.call}`);
  const needed = page.getByRole("region", { name: "Needed later" });
  await needed.getByText("SALT-7741-QX").waitFor();
  await needed.getByRole("cell", { name: "before turn 2" }).waitFor(); // as the verdict says it
  await needed.getByText("SALT-2026 was used instead at").waitFor();
  await page.getByRole("region", { name: "Compressed" }).getByText("9 → 3 messages").waitFor();
  await page.getByRole("region", { name: "Before and after" }).getByText("in the place of 7 messages").waitFor();
  await page.getByRole("region", { name: "Summariser" }).getByText("turn 5").waitFor();
  await page.getByText("Lost 4").click();
  assert.deepEqual(problems, []);
});

test("the height of the panel is moved with the arrow keys, and remembered", async () => {
  const { page } = await run("rail_desk", "?at=1&panel=waterfall");
  const edge = page.getByRole("separator", { name: "Height of the panel" });
  const before = Number(await edge.getAttribute("aria-valuenow"));
  await edge.focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(Number(await edge.getAttribute("aria-valuenow")), before - 24);
  await page.reload();
  await page.getByRole("separator", { name: "Height of the panel" }).waitFor();
  assert.equal(Number(await page.getByRole("separator", { name: "Height of the panel" }).getAttribute("aria-valuenow")), before - 24);
});

test("a compression that the program declared says how, when, what it preserved, and its policy", async () => {
  const { page } = await run("chat", "?at=1");
  await page.getByRole("button", { name: /^The context was compressed: 5 messages summarised/ }).click();
  const block = page.getByRole("region", { name: "Compressed" });
  await block.getByText("declared by the program").waitFor();
  await block.getByText("summary, at its threshold").waitFor();
  await block.getByText("(1 preserved)").waitFor();
  await block.getByRole("button", { name: "policy" }).click();
  await block.getByText(/"threshold"/).waitFor();
  const before = page.getByRole("region", { name: "Before and after" });
  await before.getByText("preserved", { exact: true }).waitFor();
  await before.getByText("booking", { exact: true }).waitFor();
});
