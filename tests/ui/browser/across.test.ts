import assert from "node:assert/strict";
import { test } from "node:test";

import { once, open, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

const TRIAGE = "/across?tool=look_up";

// The first question starts the processes that answer; on a loaded machine that takes longer than a browser waits.
const answering = once(async () => {
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/analytics/statistics`);
  assert.equal(answer.status, 200);
});

test("statistics of runs, each figure a link to the runs that it is about", async () => {
  await answering();
  const { page, problems } = await open("/");
  await page.getByRole("link", { name: "Across runs" }).click();
  await page.waitForURL(/\/across$/);
  await page.getByLabel("tool", { exact: true }).fill("look_up");
  await page.keyboard.press("Enter");
  await page.waitForURL(/tool=look_up/);
  await page.getByRole("link", { name: "12 runs" }).waitFor();
  await page.getByRole("region", { name: "What a run takes" }).getByRole("row", { name: /tool calls/ }).getByText("2").first().waitFor();
  await page.getByRole("region", { name: "Compression and outcome" }).getByText("never").waitFor();
  await page.getByRole("link", { name: "6 failed" }).click();
  await page.waitForURL(/status=failed/);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 6);
  await page.goBack();
  await page.getByRole("region", { name: "What came of them" }).getByRole("link", { name: "look_up", exact: true }).click();
  await page.waitForURL(/\/\?tool=look_up/);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 12);
  assert.deepEqual(problems, []);
});

test("how runs went over time, each bar a link to the runs of its period", async () => {
  await answering();
  const { page } = await open(TRIAGE);
  const charts = page.getByRole("region", { name: "Over time" });
  await charts.getByText("context peak").waitFor();
  await charts.getByRole("link", { name: /: runs \d+, \d+ failed$/ }).first().click();
  await page.waitForURL(/since=.*until=/);
  await page.locator("tbody tr").first().waitFor();
  assert.ok((await page.locator("tbody tr").count()) < 12);
});

test("choices with their intervals, and which tool follows which", async () => {
  await answering();
  const { page } = await open(`${TRIAGE}&show=choices`);
  const pattern = page.getByRole("region", { name: "Decision patterns" }).getByRole("row", { name: /look_up completed guess/ });
  await pattern.getByRole("img", { name: "0 of 6 succeeded, 95 % interval 0.0 % to 39 %" }).waitFor();
  await pattern.getByRole("link", { name: /^[0-9a-f]{8}:\d+$/ }).first().waitFor();
  await page.getByRole("region", { name: "Transitions" }).getByRole("link", { name: "refund" }).first().click();
  await page.waitForURL(/tool=refund/);
});

test("what distinguishes failed runs, how they fail, and the run that shows it", async () => {
  await answering();
  const { page } = await open(`${TRIAGE}&show=failed`);
  const difference = page.getByRole("region", { name: /distinguishes/ }).getByRole("row", { name: /^calls guess/ });
  await difference.getByText("6 of 6").waitFor();
  await difference.getByText("0 of 6").waitFor();
  const cluster = page.getByRole("region", { name: "How runs fail" }).getByRole("row", { name: /LookupError/ });
  await cluster.getByText("yes").waitFor();
  await cluster.getByRole("link", { name: /:\d+$/ }).first().click();
  await page.waitForURL(/\/runs\/[0-9a-f]{32}\?at=\d+/);
});

test("where runs of one task part, and that few runs are no pattern", async () => {
  await answering();
  const { page } = await open(`${TRIAGE}&show=divergences&task=tag:task:`);
  const task = page.getByRole("region", { name: "Task task:1" });
  await task.getByText("no pattern: too few runs").waitFor();
  await task.getByRole("row", { name: /refund/ }).getByText("2/2").waitFor();
  await task.getByRole("link", { name: "task:1" }).click();
  await page.waitForURL(/tag=task%3A1/);
});

test("what fills the context is the message that all runs send", async () => {
  await answering();
  const { page } = await open(`${TRIAGE}&show=contents`);
  await page.getByRole("row", { name: /You triage orders/ }).getByText("12").first().waitFor();
});

test("no runs and a wrong outcome say so", async () => {
  await answering();
  const { page } = await open("/across?agent=nobody");
  await page.getByText("No run that has ended meets these conditions").first().waitFor();
  const { page: wrong } = await open("/across?outcome=reward%3E%3Dmuch");
  await wrong.getByRole("alert").getByText("compares with no number").first().waitFor();
});

test("axe finds nothing across runs", async () => {
  await answering();
  const { page } = await open(TRIAGE);
  for (const [tab, shown] of [["Overview", "Tools"], ["Tools and choices", "Which tool follows which"], ["Failed or succeeded", "How runs fail"], ["What fills the context", "times sent"]] as const) {
    await page.getByRole("tab", { name: tab }).click();
    await page.getByRole("tabpanel").getByText(shown, { exact: true }).waitFor();
    assert.deepEqual(await violationsInBothThemes(page), [], tab);
  }
});
