// axe over all scenes, in both themes: pages, dialogs, and pages without content. On a narrow page, too, where parts move.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { alone, open, violationsInBothThemes } from "./support/browser.ts";
import { answered } from "./support/programs.ts";
import { MAIN, type Scene, STATES, VIEWS } from "./support/scenes.ts";

const LONGEST_MS = 150_000;
const NARROW = { viewport: { width: 390, height: 900 } };
/** Scenes whose pages are laid out in another way where there is little room. */
const ALSO_NARROW = ["runs", "run", "run-crashed", "compare", "content", "across", "search"];

/** Sealed runs are indexed in the background. */
before(() => answered<{ items: unknown[] }>("/search/decisions?source=invented", ({ items }) => items.length > 0, LONGEST_MS));

async function isClean(scene: Scene, options = {}): Promise<void> {
  const { page } = await open(await scene.path(), options, scene.before ?? alone);
  await scene.ready(page);
  assert.deepEqual(await violationsInBothThemes(page), []);
}

const scenes: Record<string, Scene> = { ...MAIN, ...VIEWS, ...STATES };
for (const [name, scene] of Object.entries(scenes)) test(`axe finds nothing in ${name}`, () => isClean(scene));
for (const name of ALSO_NARROW)
  test(`axe finds nothing in ${name} on a narrow page`, async () => {
    const scene = scenes[name];
    assert.ok(scene);
    await isClean(scene, NARROW);
  });
