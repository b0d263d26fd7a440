import assert from "node:assert/strict";
import { test } from "node:test";

import { open, violationsInBothThemes } from "./browser.ts";

const KEY = process.env.PLAYHEAD_UI_KEY ?? "";

test("a key is asked for once, and stays out of reach of scripts", async () => {
  const { page } = await open("/");
  await page.getByLabel("This collector needs a key").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("no such key").waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByLabel("This collector needs a key").fill(KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Nothing is recorded yet").waitFor();
  assert.equal(await page.evaluate(() => document.cookie), "");
  assert.deepEqual(await violationsInBothThemes(page), []); // the list of runs when there are none
  await page.reload();
  await page.getByText("Nothing is recorded yet").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
});
