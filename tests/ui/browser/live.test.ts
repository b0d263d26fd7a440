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

test("pages stay live over many ends of their stream, and over an answer that is no stream", async () => {
  const [agent, run] = await waiting();
  await waitForRun(run);
  const { page } = await open(`/runs/${run}`, {}, alone);
  const steps = (count: number) => page.waitForFunction((count) => document.querySelectorAll('[role="treeitem"][id^="step-"]').length >= count, count);
  /** Waits until the page has followed its stream over so many further connections; which of them went on behind a last id. */
  const connections = async (count: number): Promise<(string | undefined)[]> => {
    const ids: (string | undefined)[] = [];
    while (ids.length < count) {
      const request = await page.waitForRequest((request) => request.url().includes(`/runs/${run}/events`) && request.headers()["accept"] === "text/event-stream");
      ids.push((await request.allHeaders())["last-event-id"]);
    }
    return ids;
  };
  await steps(1);
  const [, ...later] = await connections(5); // more than in an hour of streams of 15 minutes; the first may begin the stream
  assert.ok(later.every((id) => id !== undefined));
  agent.stdin.write("second\n");
  await steps(2);
  await page.route(`**/runs/${run}/events*`, (route) => route.fulfill({ status: 502, body: "no stream" }), { times: 1 });
  await page.waitForResponse((response) => response.status() === 502);
  await page.getByText("not live").waitFor();
  assert.deepEqual(await connections(1), [undefined]); // opened anew
  agent.stdin.write("third\n");
  await steps(3);
  await page.getByText("not live").waitFor({ state: "detached" });
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
