import assert from "node:assert/strict";
import { test } from "node:test";

import { open, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

/** A run and one of its forks, of examples/what_if.py: in the fork a tool failed. */
async function forks(): Promise<[string, string]> {
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs?limit=100`);
  const runs = ((await answer.json()) as { items: { run: string; fork_of: string | null; errors: number }[] }).items;
  const fork = runs.find((run) => run.fork_of !== null && run.errors > 0);
  assert.ok(fork?.fork_of);
  return [fork.fork_of, fork.run];
}

test("where two forks part, and what came of it, in four actions from the list", async () => {
  const [parent, fork] = await forks();
  const { page, problems } = await open("/");
  await page.locator("tr", { hasText: fork.slice(-8) }).getByRole("link").first().click();
  await page.getByRole("link", { name: "compare", exact: true }).click();
  await page.waitForURL(new RegExp(`/compare/${parent}/${fork}`));
  const parts = page.getByRole("region", { name: "Where they part" });
  await parts.getByText("+ TimeoutError").waitFor();
  await page.getByRole("region", { name: "What came of it" }).getByText("≠ answer").waitFor();
  await parts.getByRole("link", { name: /failed/ }).click();
  await page.waitForURL(new RegExp(`/runs/${fork}\\?at=`));
  await page.getByRole("region", { name: "Why this step" }).getByText("failed: 30 s").waitFor();
  // Before the first model call there is no context: the answer is a 404, which the browser notes.
  assert.deepEqual(problems.filter((line) => !line.includes("404")), []);
});

test("one playhead moves both runs, and shows what differs there in state and context", async () => {
  const [parent, fork] = await forks();
  const { page } = await open(`/compare/${parent}/${fork}`);
  const both = page.getByRole("region", { name: "Both on one axis" });
  await both.getByRole("button", { name: /^Pair 1: stock, changed/, pressed: true }).waitFor();
  await both.getByRole("table", { name: "States" }).getByRole("row", { name: /errors/ }).getByText("TimeoutError").waitFor();
  await both.getByRole("group", { name: "Output of the second" }).getByText("+ TimeoutError: 30 s").waitFor();
  await page.keyboard.press("ArrowRight");
  await page.waitForURL(/pair=2/);
  await both.getByRole("group", { name: "Output of the second" }).getByText("+ no").waitFor();
  await both.getByRole("group", { name: "Context of the second" }).getByText("+").first().waitFor();
  await both.getByRole("button", { name: /^Pair 3: order, only in the first/ }).click();
  await page.waitForURL(/pair=3/);
  assert.equal(await both.getByRole("button", { pressed: true }).count(), 1);
  await both.getByRole("row", { name: /errors/ }).getByRole("button", { name: "first difference" }).click();
  await page.waitForURL(/pair=1$/);
  assert.deepEqual(await violationsInBothThemes(page), []);
});

test("runs that are no forks are compared, too, and an unknown one says so", async () => {
  const [parent] = await forks();
  const { page } = await open(`/compare/${parent}/${parent}`);
  await page.getByText("They made the same calls.").waitFor();
  await page.getByText("are the same record").waitFor();
  const { page: unknown } = await open(`/compare/${parent}/${"0".repeat(32)}`);
  await unknown.getByRole("alert").waitFor();
});

