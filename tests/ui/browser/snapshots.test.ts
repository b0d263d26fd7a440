// The main pages look as they did: pytest tests/ui -k snapshots --write-golden draws them again.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { once, open, URL_OF_COLLECTOR } from "./support/browser.ts";
import { withFonts } from "./support/fonts.ts";
import { decoded, type Picture, scaled, small } from "./support/png.ts";
import { MAIN } from "./support/scenes.ts";
import { settled, steady } from "./support/steady.ts";

const KEPT = process.env.PLAYHEAD_UI_SNAPSHOTS ?? ".";
const DRAWN = process.env.PLAYHEAD_UI_PICTURES ?? ".";
const MUST_WRITE = process.env.PLAYHEAD_UI_WRITE === "1";
// Kept at half the size, compared as a mosaic: letters may be drawn differently, but must be where they were.
const HALF = 2;
const MOSAIC = 6;
const COLOURS = 64;
/** A stone of the mosaic differs when one of its colours does by more than this, of 255. */
const DIFFERENT = 20;
const MOST_DIFFERENT = 20;

// Of a step in a page of half the size.
const STEP = 13;
const WIDTH = 160;

const scenes = ["runs", "run", "run-compression", "compare", "content", "across"].map((name) => ({ name, scene: MAIN[name] }));
const drawn = new Map<string, Picture>();

/** How many stones of the mosaics of two pictures differ; all, if their sizes do. */
function differences(a: Picture, b: Picture): number {
  const [first, second] = [scaled(a, MOSAIC), scaled(b, MOSAIC)];
  if (first.width !== second.width || first.height !== second.height) return Infinity;
  let found = 0;
  for (let n = 0; n < first.rgba.length; n += 4)
    if ([0, 1, 2].some((channel) => Math.abs((first.rgba[n + channel] ?? 0) - (second.rgba[n + channel] ?? 0)) > DIFFERENT)) found += 1;
  return found;
}

/** The last events of runs that have ended may still be on their way. */
const ended = once(async () => {
  for (let tries = 0; tries < 900; tries++) {
    const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs?status=running`);
    if (((await answer.json()) as { items: unknown[] }).items.length === 0) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("a run that has ended is still shown as running");
});

/** Compares the page as it is with the picture that is kept, or keeps it. What differs too much is named. */
async function compared(page: Page, name: string): Promise<string | null> {
  await settled(page);
  const now = scaled(decoded(await page.screenshot()), HALF);
  drawn.set(name, now);
  const kept = `${KEPT}/${name}.png`;
  if (MUST_WRITE) writeFileSync(kept, small(now, COLOURS));
  const found = existsSync(kept) ? differences(decoded(readFileSync(kept)), now) : Infinity;
  if (found <= MOST_DIFFERENT) return null;
  writeFileSync(`${DRAWN}/${name}.png`, small(now, COLOURS));
  return `${found} places differ from ${kept}: see ${DRAWN}/${name}.png. If that is meant, run pytest tests/ui -k browser --write-golden`;
}

for (const { name, scene } of scenes)
  test(`snapshot of ${name}`, { timeout: 300_000 }, async () => {
    await ended();
    assert.ok(scene);
    const { page } = await open(await scene.path(), {}, async (page) => (await withFonts(page), await steady(page)));
    await scene.ready(page);
    const dark = await compared(page, `${name}-dark`);
    await page.emulateMedia({ colorScheme: "light" });
    assert.deepEqual([dark, await compared(page, `${name}-light`)].filter((each) => each !== null), []);
  });

test("a page that lacks three steps, and another page, are told apart", () => {
  const page = drawn.get("run-dark");
  assert.ok(page);
  const without = { ...page, rgba: page.rgba.slice() };
  for (let y = 180; y < 180 + 3 * STEP; y++) without.rgba.fill(18, y * page.width * 4, (y * page.width + WIDTH) * 4);
  assert.ok(differences(page, without) > MOST_DIFFERENT);
  const other = drawn.get("run-compression-dark");
  assert.ok(other && differences(page, other) > 10 * MOST_DIFFERENT);
});
