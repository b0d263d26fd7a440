import { expect, test } from "vitest";

import type { ContentAbout } from "../../api/types";
import { callsWithMessage } from "./sameMessage";

const about = (calls: number[], more: Partial<ContentAbout> = {}, more_places = false) =>
  ({
    calls: calls.length,
    complete: true,
    ...more,
    items: [
      {
        places: [{ seq: 4, kind: "message_added" }, ...calls.map((seq) => ({ seq, kind: "llm_called" }))],
        more_places,
      },
    ],
  }) as unknown as ContentAbout;

const named = (calls: number[], seq: number) =>
  callsWithMessage(about(calls), seq).links.map((link) => `${link.name} ${link.seq}`);

test("the calls beside this one, the first and the last", () => {
  const calls = [6, 16, 24, 31, 35];
  expect(callsWithMessage(about(calls), 24)).toMatchObject({ calls: 5, isCut: false });
  expect(named(calls, 24)).toEqual(["first 6", "before 16", "after 31", "last 35"]);
  expect(named(calls, 6)).toEqual(["after 16", "last 35"]);
  expect(named(calls, 35)).toEqual(["first 6", "before 31"]);
});

test("a call that is two of these is named once, and this call never", () => {
  expect(named([6, 16, 24], 16)).toEqual(["first 6", "last 24"]);
  expect(named([6], 6)).toEqual([]);
});

test("no call is said to be the last, or the one before, when not all places are known", () => {
  const found = callsWithMessage(about([6, 16, 24], { calls: 2000 }, true), 6);
  expect(found).toEqual({ calls: 2000, isCut: true, links: [{ seq: 16, name: "after" }] });
  expect(callsWithMessage(about([6, 16, 24], { calls: 2000 }, true), 900).links).toEqual([{ seq: 6, name: "first" }]);
  expect(callsWithMessage(about([6, 16], { complete: false }), 6)).toEqual({ calls: 2, isCut: true, links: [] });
});

test("a run without the message has no calls with it", () => {
  expect(callsWithMessage({ ...about([]), items: [] } as ContentAbout, 6)).toEqual({
    calls: 0,
    isCut: false,
    links: [],
  });
});
