import assert from "node:assert/strict";
import { test } from "node:test";

import { open, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

type Run = { run: string; name: string; fork_of: string | null; errors: number; outcome: { word: string } };

async function runs(): Promise<Run[]> {
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs?limit=100`);
  return ((await answer.json()) as { items: Run[] }).items;
}

/** A run and one of its forks, of examples/what_if.py: in the fork a tool failed. */
async function forks(): Promise<[string, string]> {
  const fork = (await runs()).find((run) => run.fork_of !== null && run.errors > 0);
  assert.ok(fork?.fork_of);
  return [fork.fork_of, fork.run];
}

/** A failed and a succeeded trial of one task, of scored_runs.py. */
async function trials(): Promise<[string, string]> {
  const all = (await runs()).filter((run) => run.name === "rail_desk");
  const of = (word: string) => all.find((run) => run.outcome.word === word)?.run;
  const [failed, succeeded] = [of("failed"), of("succeeded")];
  assert.ok(failed && succeeded);
  return [failed, succeeded];
}

test("a sentence says where two trials part and what came of it, and the pair is chosen", async () => {
  const [failed, succeeded] = await trials();
  const { page, problems } = await open(`/compare/${failed}/${succeeded}`);
  await page.getByRole("heading", { level: 1, name: "They part at turn 7: B went on to call calculate(35 + 34), A answered the user." }).waitFor();
  await page.getByText("Until then both made the same 3 tool calls and got the same results.").waitFor();
  await page.getByText("In the end they differ in change_booking: trains[1].train is RX132 in A, RX172 in B.").waitFor();
  await page.getByRole("region", { name: "Run A" }).getByText("failed").waitFor();
  await page.getByRole("region", { name: "Run B" }).getByText(/10 turns \(\+1\), 5 tool calls \(\+1\)/).waitFor();
  const chosen = page.getByRole("row", { selected: true });
  await chosen.getByText("they part").waitFor();
  await chosen.getByText("calculate(35 + 34)").waitFor();
  const there = page.getByRole("region", { name: "Where they part" });
  await there.getByRole("group", { name: "Run A there" }).locator("mark").getByText("RX132").waitFor();
  await there.getByRole("group", { name: "Run B there" }).getByText("69.0").waitFor(); // the sum, then the answer after it
  await there.getByRole("group", { name: "Run B there" }).locator("mark").getByText("RX172").waitFor();
  assert.deepEqual(problems, []);
});

test("pairs are lines of one height that stand below each other, equal ones, too", async () => {
  const [failed, succeeded] = await trials();
  for (const width of [1440, 390]) {
    const { page } = await open(`/compare/${failed}/${succeeded}`, { viewport: { width, height: 1400 } });
    const rows = page.getByRole("grid", { name: "Calls in pairs" }).locator('[role="row"][aria-selected]');
    await rows.first().waitFor();
    const boxes = await rows.evaluateAll((all) =>
      all.map((row) => {
        const { top, bottom, height } = row.getBoundingClientRect();
        const inside = [...row.children].every((cell) => cell.getBoundingClientRect().bottom <= bottom + 1 && cell.getBoundingClientRect().top >= top - 1);
        return { top, height, inside };
      }));
    assert.equal(boxes.length, 15);
    const [first, second] = boxes;
    assert.ok(first && second);
    const step = second.top - first.top;
    for (const [n, box] of boxes.entries()) {
      assert.ok(box.inside, `pair ${n + 1} at ${width} px`);
      assert.ok(Math.abs(box.top - first.top - n * step) < 1 && Math.abs(box.height - step) < 1.5, `pair ${n + 1} at ${width} px`);
    }
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `sideways at ${width} px`);
  }
});

test("no comparison speaks of 0 equal calls", async () => {
  for (const [a, b] of [await trials(), await forks()]) {
    const { page } = await open(`/compare/${a}/${b}`);
    await page.getByRole("row", { selected: true }).waitFor();
    assert.doesNotMatch(await page.locator("main").innerText(), /\b0 (equal|calls|changed|only)/);
  }
});

test("where two forks part, and what came of it, in four actions from the list", async () => {
  const [parent, fork] = await forks();
  const { page } = await open(`/compare/${parent}/${fork}`);
  await page.getByRole("heading", { level: 1, name: /stock\(lamp\) returned in A, failed with TimeoutError: 30 s in B/ }).waitFor();
  await page.getByText("is a fork of A from event").waitFor();
  await page.getByRole("group", { name: "Run B there" }).getByText("TimeoutError: 30 s").waitFor();
  await page.getByRole("group", { name: "Run B there" }).getByRole("link", { name: /event/ }).click();
  await page.waitForURL(new RegExp(`/runs/${fork}\\?.*at=`));
});

test("keys go through the pairs, and to the next difference", async () => {
  const [failed, succeeded] = await trials();
  const { page } = await open(`/compare/${failed}/${succeeded}?pair=1`);
  const chosen = page.getByRole("row", { selected: true });
  await chosen.focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForURL(/pair=2/);
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-rowindex") === "3");
  await page.keyboard.press("j");
  await page.waitForURL(/pair=3/);
  await page.keyboard.press("n");
  await page.waitForURL(/pair=4/);
  await page.keyboard.press("Shift+N");
  await page.waitForURL(/pair=1$/);
  await page.keyboard.press("End");
  await page.waitForURL(/pair=15/);
  await page.getByRole("button", { name: "only differences" }).click();
  await page.waitForURL(/show=differences/);
  assert.equal(await page.getByText("equal", { exact: true }).count(), 0);
});

test("states and contexts there, and the first pair after which a value differs", async () => {
  const [parent, fork] = await forks();
  const { page } = await open(`/compare/${parent}/${fork}?pair=3`);
  await page.getByRole("button", { name: "State and context there" }).click();
  const states = page.getByRole("table", { name: "States" });
  await states.getByRole("row", { name: /errors/ }).getByText("TimeoutError").waitFor();
  await page.getByRole("group", { name: "Context of B" }).getByText("+").first().waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await states.getByRole("row", { name: /errors/ }).getByRole("button", { name: "first difference" }).click();
  await page.waitForURL(/pair=1$/);
});

test("a run beside itself did the same, and an unknown one says so", async () => {
  const [parent] = await forks();
  const { page } = await open(`/compare/${parent}/${parent}`);
  await page.getByRole("heading", { name: /^Both did the same: \d+ calls, all equal\.$/ }).waitFor();
  const { page: unknown } = await open(`/compare/${parent}/${"0".repeat(32)}`);
  await unknown.getByRole("alert").filter({ hasText: "instead of the comparison" }).waitFor();
});

test("two calls beside each other, from the pair and from a turn", async () => {
  const [failed, succeeded] = await trials();
  const { page } = await open(`/compare/${failed}/${succeeded}`);
  await page.getByRole("link", { name: "all that differs in these two calls" }).click();
  await page.waitForURL(/\/calls\?a=.*&b=/);
  await page.getByRole("heading", { level: 1, name: /^They differ in \d+ messages, and answered otherwise\.$/ }).waitFor();
  await page.getByRole("region", { name: "What they answered" }).locator("del").getByText(/RX132/).first().waitFor();
  const saw = page.getByRole("region", { name: "What they saw" });
  await saw.getByRole("button", { name: /equal messages?$/ }).first().click();
  await saw.getByText("You change bookings of a railway").waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.goto(`${URL_OF_COLLECTOR}/calls?a=${failed}:35`);
  await page.getByRole("heading", { name: "Compare the call at event 35 with …" }).waitFor();
  await page.getByRole("combobox", { name: "turn" }).selectOption({ index: 2 });
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: /^They differ in \d+ messages/ }).waitFor();
});
