// What other tests do not look at with axe: dialogs, the look at a run, further views, and pages without content.
import assert from "node:assert/strict";
import { test } from "node:test";

import { alone, open, violationsInBothThemes } from "./support/browser.ts";
import { MAIN, STATES, VIEWS } from "./support/scenes.ts";

const NAMES = [
  "runs-peek", "keys", "fork-dialog", "run-focus", "run-invented", "run-compression", "content-hex", "content-difference",
  "across-divergences", "state-no-such-page", "state-no-such-run", "state-no-answer", "state-no-runs-meet",
];

for (const name of NAMES)
  test(`axe finds nothing in ${name}`, async () => {
    const scene = { ...MAIN, ...VIEWS, ...STATES }[name];
    assert.ok(scene);
    const { page } = await open(await scene.path(), {}, scene.before ?? (name === "run-focus" ? alone : undefined));
    await scene.ready(page);
    assert.deepEqual(await violationsInBothThemes(page), []);
  });
