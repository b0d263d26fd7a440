import { describe, expect, test } from "vitest";

import type { RecordedEvent } from "../../api/types";
import { readEvents, withEvent } from "./readEvents";

/** A run of so many events, behind an API whose pages have at most `longest`; `most`: questions that were open at once. */
function api(length: number, longest = 1000, isRunning = false) {
  const figures = { asked: 0, open: 0, most: 0 };
  const ask = async (after: number, limit: number) => {
    figures.asked += 1;
    figures.most = Math.max(figures.most, ++figures.open);
    await new Promise((done) => setTimeout(done));
    figures.open -= 1;
    const items = Array.from(
      { length: Math.max(0, Math.min(limit, longest, length - after)) },
      (_, n) => ({ seq: after + n + 1 }) as RecordedEvent,
    );
    const last = after + items.length;
    return { items, next_cursor: last < length || isRunning ? String(last) : null };
  };
  return { ask, figures };
}

async function read(length: number, expected = length) {
  const { ask, figures } = api(length);
  const found: { seqs: number[]; isWhole: boolean }[] = [];
  await readEvents(ask, expected, (items, isWhole) => found.push({ seqs: items.map((each) => each.seq), isWhole }));
  return { found, figures };
}

describe("reading the events of a run", () => {
  test.each([0, 1, 199, 200, 201, 1200, 1201, 5200, 12_345])(
    "%i events come without gaps, first a page of them",
    async (length) => {
      const { found } = await read(length);
      expect(found[0]?.seqs.length).toBe(Math.min(200, length));
      expect(found.at(-1)?.seqs).toEqual(Array.from({ length }, (_, n) => n + 1));
      expect(found.map((each) => each.isWhole)).toEqual([...found.slice(1).map(() => false), true]);
    },
  );

  test("pages are asked for in parallel, and handed out a few times only", async () => {
    const { found, figures } = await read(100_000);
    expect(figures.most).toBe(4);
    expect(figures.asked).toBeLessThan(105);
    expect(found.length).toBeLessThan(12);
  });

  test("a run that grew, or shrank, while it was read is read to its end", async () => {
    expect((await read(5000, 1500)).found.at(-1)?.seqs).toHaveLength(5000);
    expect((await read(1500, 50_000)).found.at(-1)?.seqs).toHaveLength(1500);
  });

  test("short pages, and the cursor of a run that still runs, leave no gaps", async () => {
    const { ask } = api(5000, 700, true);
    let seqs: number[] = [];
    await readEvents(ask, 5000, (items) => {
      seqs = items.map((each) => each.seq);
    });
    expect(seqs).toEqual(Array.from({ length: 5000 }, (_, n) => n + 1));
  });

  test("what goes wrong is thrown once, and nothing is left behind", async () => {
    const { ask } = api(10_000);
    const failing = (after: number, limit: number) =>
      after >= 2200 ? Promise.reject(new Error("gone")) : ask(after, limit);
    await expect(readEvents(failing, 10_000, () => undefined)).rejects.toThrow("gone");
  });
});

test("an event that comes live is appended, or takes the place of its seq; behind a gap it is not taken", () => {
  const event = (seq: number, kind = "a") => ({ seq, kind }) as unknown as RecordedEvent;
  const known = [event(1), event(2)];
  expect(withEvent(known, event(3))).toEqual([event(1), event(2), event(3)]);
  expect(withEvent(known, event(1, "b"))).toEqual([event(1, "b"), event(2)]);
  expect(withEvent(known, event(4))).toBeNull();
  expect(known).toEqual([event(1), event(2)]);
});
