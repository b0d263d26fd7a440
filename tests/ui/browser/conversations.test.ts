import assert from "node:assert/strict";
import { test } from "node:test";

import { open, runNamed, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

type Event = { kind: string; refs: Record<string, string> };

/** What a program saves: the thread of the last model call of the run `support`. Returns its ref. */
async function saved(id: string, parent: object = {}): Promise<void> {
  const events = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/${await runNamed("support")}/events?limit=200`);
  const { items } = (await events.json()) as { items: Event[] };
  const head = items.filter((event) => event.kind === "llm_called").at(-1)?.refs.thread;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ id, head, revision: 0, scope: "user-7", ...parent });
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/conversation`, { method: "PUT", headers, body });
  assert.equal(answer.status, 200, await answer.text());
}

test("conversations are listed, and one is shown with its messages and what it is a branch of", async () => {
  await saved("user-7/support");
  await saved("user-7/support/branch-1", { parent_id: "user-7/support", parent_revision: 1 });
  const { page, problems } = await open("/");
  await page.getByRole("link", { name: "Conversations", exact: true }).click();
  const row = page.getByRole("row", { name: /user-7\/support\/branch-1/ });
  await row.getByRole("cell", { name: "user-7", exact: true }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await row.getByRole("link").click();
  await page.getByRole("heading", { name: "user-7/support/branch-1" }).waitFor();
  await page.getByRole("region", { name: "Messages" }).getByText("A1001").first().waitFor();
  await page.getByText("No run has named it.").waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByRole("link", { name: "user-7/support", exact: true }).click();
  await page.getByText(/revision 1/).waitFor();
  assert.deepEqual(problems, []);
});
