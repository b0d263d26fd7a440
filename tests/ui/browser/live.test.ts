import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { after, test } from "node:test";

import type { Page } from "playwright-core";

import { alone, open, URL_OF_COLLECTOR } from "./support/browser.ts";

const started: ChildProcessWithoutNullStreams[] = [];
after(() => started.forEach((agent) => agent.kill("SIGKILL")));

/** An agent that waits for lines, and the id of its run. */
async function waiting(): Promise<[ChildProcessWithoutNullStreams, string]> {
  const env = { ...process.env, PLAYHEAD_ENDPOINT: URL_OF_COLLECTOR };
  const agent = spawn(process.env.PLAYHEAD_UI_PYTHON ?? "python", [process.env.PLAYHEAD_UI_WAITING ?? ""], { env });
  started.push(agent);
  const [line] = (await once(agent.stdout, "data")) as [Buffer];
  return [agent, line.toString().trim().replaceAll("-", "")];
}

/** The lines of the steps that the page has. */
const steps = (page: Page) => page.getByRole("option", { name: /step\(/ });
const hasSteps = (page: Page, count: number) =>
  page.waitForFunction((count) => [...document.querySelectorAll('[role="option"]')].filter((row) => /step\(/.test(row.textContent ?? "")).length >= count, count);

/** What the head and the verdict say is that of a run which has ended, at once and not after a reload. */
async function hasEnded(page: Page, run: string) {
  await page.waitForFunction(() => !/running/i.test(document.querySelector("main")?.textContent ?? "running"));
  await page.getByRole("log").getByText(/The run has ended/).waitFor({ state: "attached" });
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${run}`);
  const { tool_calls: tools } = (await answer.json()) as { tool_calls: number };
  await page.getByText(`${tools} tool calls`).waitFor();
}

test("a run grows while it is looked at, over a cut of the connection, and ends", async () => {
  const [agent, run] = await waiting();
  await waitForRun(run);
  const { page } = await open(`/runs/${run}`, {}, alone);
  await steps(page).first().waitFor();
  await page.getByText("Running").first().waitFor();
  await page.getByText(/connected/).first().waitFor();
  const moving = () => page.evaluate(() => document.getAnimations().length);
  assert.equal(await moving(), 0, "this browser asks for reduced motion");
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await page.waitForFunction(() => document.getAnimations().length > 0);
  await page.emulateMedia({ reducedMotion: "reduce" });
  agent.stdin.write("second\n");
  await hasSteps(page, 2);
  await page.context().setOffline(true);
  agent.stdin.write("third\n");
  await page.context().setOffline(false);
  await hasSteps(page, 3);
  agent.stdin.end();
  await once(agent, "exit");
  await hasEnded(page, run);
  assert.equal(agent.exitCode, 0);
});

test("pages stay live over many ends of their stream, and over an answer that is no stream", async () => {
  const [agent, run] = await waiting();
  await waitForRun(run);
  const { page } = await open(`/runs/${run}`, {}, alone);
  /** Waits until the page has followed its stream over so many further connections; which of them went on behind a last id. */
  const connections = async (count: number): Promise<(string | undefined)[]> => {
    const ids: (string | undefined)[] = [];
    while (ids.length < count) {
      const request = await page.waitForRequest((request) => request.url().includes(`/runs/${run}/events`) && request.headers()["accept"] === "text/event-stream");
      ids.push((await request.allHeaders())["last-event-id"]);
    }
    return ids;
  };
  await hasSteps(page, 1);
  const [, ...later] = await connections(5); // more than in an hour of streams of 15 minutes; the first may begin the stream
  assert.ok(later.every((id) => id !== undefined));
  agent.stdin.write("second\n");
  await hasSteps(page, 2);
  // Refused until the page has said so: it would be connected again a second after one refusal.
  let isRefused = true;
  const taken: (string | undefined)[] = [];
  await page.route(`**/runs/${run}/events*`, (route) => {
    const { accept, "last-event-id": last } = route.request().headers();
    if (accept !== "text/event-stream") return route.continue();
    if (isRefused) return route.fulfill({ status: 502, body: "no stream" });
    taken.push(last);
    return route.continue();
  });
  await page.getByText(/Not connected since \d\d:\d\d/).waitFor();
  isRefused = false;
  agent.stdin.write("third\n");
  await hasSteps(page, 3);
  await page.getByText(/Not connected since/).waitFor({ state: "detached" });
  assert.equal(taken[0], undefined); // opened anew
  agent.stdin.end();
  await once(agent, "exit");
  await hasEnded(page, run);
  assert.equal(agent.exitCode, 0);
});

test("a page that is opened before the run has arrived finds it as soon as it has, and follows it", async () => {
  const [agent, run] = await waiting();
  await waitForRun(run);
  let isUnknown = true; // until the page has said so
  const { page } = await open(`/runs/${run}`, {}, async (page) => {
    const unknown = { error: { code: "no_such_run", message: "there is no such run" } };
    await page.route(`**/api/v1/runs/${run}`, (route) => (isUnknown ? route.fulfill({ status: 404, json: unknown }) : route.continue()));
  });
  await page.getByText(/it is looked for again/).waitFor();
  isUnknown = false;
  await hasSteps(page, 1);
  agent.stdin.write("second\n");
  await hasSteps(page, 2);
  agent.stdin.end();
  await once(agent, "exit");
  await hasEnded(page, run);
});

test("going anywhere stops following; End goes to now and follows again", async () => {
  const [agent, run] = await waiting();
  await waitForRun(run);
  const { page } = await open(`/runs/${run}`, {}, alone);
  await hasSteps(page, 1);
  const follow = page.getByRole("checkbox", { name: "follow" });
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>('input[type="checkbox"]')?.checked === true);
  await steps(page).first().click();
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>('input[type="checkbox"]')?.checked === false);
  agent.stdin.write("second\n");
  await hasSteps(page, 2);
  assert.equal(await follow.isChecked(), false);
  await page.getByRole("button", { name: /go to now/ }).click();
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>('input[type="checkbox"]')?.checked === true);
  assert.ok(await follow.isChecked());
  agent.stdin.end();
  await once(agent, "exit");
});

/** Waits until the collector knows the run's first events. */
async function waitForRun(run: string): Promise<void> {
  for (let tries = 0; tries < 900; tries++) {
    const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${run}`);
    if (answer.ok && ((await answer.json()) as { events: number }).events >= 3) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`the collector never heard of ${run}`);
}
