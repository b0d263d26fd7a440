// What people come for, in at most five actions from the list of runs. Where two forks part: compare.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { open } from "./support/browser.ts";

const MOST_ACTIONS = 5;

/** Counts what a person does. */
function counted() {
  let actions = 0;
  const act = async (what: Promise<unknown>) => {
    actions += 1;
    await what;
  };
  return { act, isFew: () => assert.ok(actions <= MOST_ACTIONS, `${actions} actions`) };
}

test("which value in this tool call was invented?", async () => {
  const { page } = await open("/");
  const { act, isFew } = counted();
  await act(page.getByRole("link", { name: "forgetful" }).click());
  await act(page.getByRole("treeitem", { name: /send_item/ }).click());
  const why = page.getByRole("region", { name: "Why this step" });
  await why.locator(".arg", { hasText: "item_id" }).locator("mark.bad").getByText("LMP-9999").waitFor();
  await why.locator(".arg", { hasText: "item_id" }).getByText("invented", { exact: true }).waitFor();
  await why.locator(".arg", { hasText: "street" }).getByText("12 Harbour Street").first().waitFor();
  assert.equal(await why.locator(".arg", { hasText: "street" }).locator("mark.bad").count(), 0);
  isFew();
});

test("what did the compression lose that was needed later?", async () => {
  const { page } = await open("/");
  const { act, isFew } = counted();
  await act(page.getByRole("link", { name: "forgetful" }).click());
  await act(page.getByRole("tab", { name: "Compression" }).click());
  const lost = page.getByRole("tabpanel");
  await lost.getByText(/Lost: \d+ facts, of which [1-9]\d* (was|were) needed later/).waitFor();
  const fact = lost.locator(".card", { hasText: "77812345" });
  await fact.getByText("asked again").waitFor();
  await act(fact.getByRole("button", { name: /event \d+/ }).last().click());
  await page.waitForURL(/at=\d+/);
  isFew();
});
