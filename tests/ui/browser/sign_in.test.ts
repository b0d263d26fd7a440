import assert from "node:assert/strict";
import { test } from "node:test";

import { open, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

// Comes last: as soon as there is a key, all other tests would need one.
test("a key is asked for once, and stays out of reach of scripts", async () => {
  const headers = { "content-type": "application/json" };
  const made = await fetch(`${URL_OF_COLLECTOR}/api/v1/keys`, { method: "POST", headers, body: JSON.stringify({ name: "a browser's", scopes: ["read", "admin"] }) });
  assert.ok(made.ok, await made.clone().text());
  const { key } = (await made.json()) as { key: string };
  const { page } = await open("/", {}, (page) => page.route("**/api/v1/runs?*", async (route) => {
    const answer = await route.fetch();
    return answer.ok() ? route.fulfill({ json: { items: [], next_cursor: null } }) : route.fulfill({ response: answer });
  }));
  await page.getByLabel("This collector needs a key").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("no such key").waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByLabel("This collector needs a key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Nothing is recorded yet").waitFor();
  assert.equal(await page.evaluate(() => document.cookie), "");
  assert.deepEqual(await violationsInBothThemes(page), []); // the list of runs when there are none
  await page.reload();
  await page.getByText("Nothing is recorded yet").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
});
