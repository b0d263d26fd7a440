import assert from "node:assert/strict";
import { test } from "node:test";

import { open } from "./browser.ts";

const KEY = process.env.PLAYHEAD_UI_KEY ?? "";

test("a key is asked for once, and stays out of reach of scripts", async () => {
  const { page } = await open("/");
  await page.getByLabel("This collector needs a key").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("no such key").waitFor();
  await page.getByLabel("This collector needs a key").fill(KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Nothing is recorded yet").waitFor();
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.reload();
  await page.getByText("Nothing is recorded yet").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
});
