import assert from "node:assert/strict";
import { test } from "node:test";

import { alone, open, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

// Comes last: as soon as there is a key, all other tests would need one.
test("a key is asked for once, and stays out of reach of scripts", async () => {
  const headers = { "content-type": "application/json" };
  const made = await fetch(`${URL_OF_COLLECTOR}/api/v1/keys`, { method: "POST", headers, body: JSON.stringify({ name: "a browser's", scopes: ["read", "admin"] }) });
  assert.ok(made.ok, await made.clone().text());
  const { key } = (await made.json()) as { key: string };
  const { page } = await open("/", {}, (page) => page.route("**/api/v1/runs?*", async (route) => {
    const answer = await route.fetch().catch(() => null);
    if (answer === null) return route.abort(); // the page was closed meanwhile
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
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  operator = key;
});

let operator = "";

async function keyWith(scope: string): Promise<string> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${operator}` };
  const made = await fetch(`${URL_OF_COLLECTOR}/api/v1/keys`, { method: "POST", headers, body: JSON.stringify({ name: `only ${scope}`, scopes: [scope] }) });
  assert.ok(made.ok, await made.clone().text());
  return ((await made.json()) as { key: string }).key;
}

test("a key with the scope admin alone is taken, and one that may not read is told what it lacks", async () => {
  const { page } = await open("/", {}, alone);
  await page.getByLabel("This collector needs a key").fill(await keyWith("ingest"));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("needs the scope read or admin").waitFor();
  await page.getByLabel("This collector needs a key").fill(await keyWith("admin"));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "rail_desk" }).first().waitFor();
});

test("a session that expires says so over the page, and the page goes on after signing in", async () => {
  const { page } = await open("/", {}, alone);
  await page.getByLabel("This collector needs a key").fill(operator);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "rail_desk" }).first().waitFor();
  await page.getByRole("combobox", { name: "Filter runs" }).fill("agent:triage");
  await page.context().clearCookies(); // what a browser does when twelve hours are over
  await page.keyboard.press("Enter");
  const sheet = page.getByRole("dialog", { name: "Your session has expired" });
  await sheet.waitFor();
  assert.equal(await page.getByText("Authorization").count(), 0);
  assert.deepEqual(await violationsInBothThemes(page), []);
  await sheet.getByLabel("This collector needs a key").fill(operator);
  await sheet.getByRole("button", { name: "Sign in" }).click();
  await sheet.waitFor({ state: "detached" });
  await page.waitForURL(/agent=triage/);
  await page.getByRole("link", { name: "triage", exact: true }).first().waitFor();
  await page.getByText("Not loaded").first().waitFor({ state: "detached" });
});
