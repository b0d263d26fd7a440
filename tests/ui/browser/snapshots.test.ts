// The main pages look as they did: pytest tests/ui -k snapshots --write-golden draws them again.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { before, test } from "node:test";

import { open, URL_OF_COLLECTOR } from "./browser.ts";
import { withFonts } from "./fonts.ts";
import { decoded, type Picture, scaled, small } from "./png.ts";
import { MAIN } from "./scenes.ts";
import { steady } from "./steady.ts";

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
before(async () => {
  for (let tries = 0; tries < 300; tries++) {
    const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs?status=running`);
    if (((await answer.json()) as { items: unknown[] }).items.length === 0) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("a run that has ended is still shown as running");
});

for (const colorScheme of ["dark", "light"] as const)
  for (const { name, scene } of scenes)
    test(`snapshot of ${name}, ${colorScheme}`, { timeout: 60_000 }, async (t) => {
      assert.ok(scene);
      const { page } = await open(await scene.path(), { colorScheme }, async (page) => (await withFonts(page), await steady(page)));
      await scene.ready(page);
      await page.evaluate(() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))));
      const now = scaled(decoded(await page.screenshot()), HALF);
      drawn.set(`${name} ${colorScheme}`, now);
      const kept = `${KEPT}/${name}-${colorScheme}.png`;
      if (MUST_WRITE) return writeFileSync(kept, small(now, COLOURS));
      const found = existsSync(kept) ? differences(decoded(readFileSync(kept)), now) : Infinity;
      t.diagnostic(`${found} places differ`);
      if (found <= MOST_DIFFERENT) return;
      writeFileSync(`${DRAWN}/${name}-${colorScheme}.png`, small(now, COLOURS));
      assert.fail(`${found} places differ from ${kept}: see ${DRAWN}/${name}-${colorScheme}.png. If that is meant, run pytest tests/ui -k snapshots --write-golden`);
    });

test("a page that lacks three steps, and another page, are told apart", () => {
  const page = drawn.get("run dark");
  assert.ok(page);
  const without = { ...page, rgba: page.rgba.slice() };
  for (let y = 180; y < 180 + 3 * STEP; y++) without.rgba.fill(18, y * page.width * 4, (y * page.width + WIDTH) * 4);
  assert.ok(differences(page, without) > MOST_DIFFERENT);
  const other = drawn.get("run-compression dark");
  assert.ok(other && differences(page, other) > 10 * MOST_DIFFERENT);
});
