import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { after, test } from "node:test";

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

test("a run grows while it is looked at, over a cut of the connection, and ends", async () => {
  const [agent, run] = await waiting();
  await waitForRun(run);
  const { page } = await open(`/runs/${run}`, {}, alone);
  await page.getByRole("treeitem", { name: /step/ }).first().waitFor();
  agent.stdin.write("second\n");
  await page.waitForFunction(() => document.querySelectorAll('[role="treeitem"][id^="step-"]').length >= 2);
  await page.context().setOffline(true);
  agent.stdin.write("third\n");
  await page.context().setOffline(false);
  await page.waitForFunction(() => document.querySelectorAll('[role="treeitem"][id^="step-"]').length >= 3, undefined, { timeout: 60_000 });
  agent.stdin.end();
  await once(agent, "exit");
  await page.getByText("8 events").waitFor();
  assert.equal(agent.exitCode, 0);
});

/** Waits until the collector knows the run's first events. */
async function waitForRun(run: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${run}`);
    if (answer.ok && ((await answer.json()) as { events: number }).events >= 3) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`the collector never heard of ${run}`);
}
