// How many things a person does for something.
import assert from "node:assert/strict";

/** Counts what a person does: each `act` is one click, one text that is typed, or one key. */
export function counted() {
  let actions = 0;
  return {
    act: async (what: Promise<unknown>) => {
      actions += 1;
      await what;
    },
    atMost: (most: number) => assert.ok(actions <= most, `${actions} actions`),
  };
}
