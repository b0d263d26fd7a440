import { describe, expect, test } from "vitest";

import type { RunHit } from "../api/types";
import { address, asWritten, opened, pageReducer, type PageAction, type PageState } from "./page";

const at = (query: string): PageState => opened(new URLSearchParams(query));
const after = (state: PageState, ...actions: PageAction[]): PageState => actions.reduce(pageReducer, state);
const hit = (seq: number) => ({ seq }) as RunHit;

describe("the address is the state", () => {
  test.each(["", "at=7", "at=7&view=conversation", "at=7&panel=tokens&range=3-9", "panel=agents"])("%s", (query) => {
    expect(address(at(query)).toString()).toBe(query);
  });

  test("words that are not known, and positions that are none, count as not said", () => {
    expect(at("at=-3&view=x&panel=y&range=9-2")).toEqual(at(""));
    expect(at("at=1e300").at).toBe(0);
  });

  test("other parameters stay", () => {
    expect(address(at("at=2"), new URLSearchParams("beta=1&at=9")).toString()).toBe("beta=1&at=2");
  });

  test("back goes to the moment before; what is open stays", () => {
    const state = after(at("at=7"), { type: "find", text: "x" }, { type: "go", seq: 12 });
    const back = after(state, { type: "address", query: new URLSearchParams("at=7") });
    expect([back.at, back.found?.text]).toEqual([7, "x"]);
  });

  test("back to an address without a moment goes to where the page opened", () => {
    const state = after(at(""), { type: "open", seq: 4, follow: false });
    expect(after(state, { type: "go", seq: 9 }, { type: "address", query: new URLSearchParams() }).at).toBe(4);
  });
});

describe("where a run opens", () => {
  test("a moment in the address wins, and so does a person that went somewhere", () => {
    const open: PageAction = { type: "open", seq: 30, follow: true };
    expect(after(at("at=7"), open).at).toBe(7);
    expect(after(at(""), { type: "go", seq: 2 }, open).at).toBe(2);
  });

  test("what is found out later moves a page that nobody has moved", () => {
    const state = after(at(""), { type: "open", seq: 60, follow: false }, { type: "open", seq: 41, follow: false });
    expect(state.at).toBe(41);
    expect(address(state).has("at")).toBe(false);
  });
});

describe("following", () => {
  const live = after(at(""), { type: "open", seq: 10, follow: true });

  test("goes on with the run, until one goes anywhere; then back at its end", () => {
    expect(after(live, { type: "grew", last: 12 }).at).toBe(12);
    const looking = after(live, { type: "go", seq: 5 }, { type: "grew", last: 12 });
    expect([looking.at, looking.following]).toEqual([5, false]);
    const again = after(looking, { type: "follow", on: true, last: 12 });
    expect([again.at, again.following]).toEqual([12, true]);
    expect(after(again, { type: "follow", on: false, last: 12 }, { type: "grew", last: 20 }).at).toBe(12);
  });

  test("what is live has no moment in its address", () => {
    expect(address(live).toString()).toBe("");
  });
});

describe("finding", () => {
  const asked = after(at("at=10"), { type: "find", text: "lamp" });
  const answer = (seqs: number[], hasMore = false): PageAction => ({
    type: "hits",
    text: "lamp",
    hits: seqs.map(hit),
    hasMore,
  });

  test("goes to the first place from here on, then on and back, around the end", () => {
    const found = after(asked, answer([3, 12, 40]));
    expect(found.at).toBe(12);
    expect(after(found, { type: "hit", step: 1 }).at).toBe(40);
    expect(after(found, { type: "hit", step: 1 }, { type: "hit", step: 1 }).at).toBe(3);
    expect(after(found, { type: "hit", step: -1 }).at).toBe(3);
  });

  test("places behind the page are shown where none is before it", () => {
    expect(after(asked, answer([3, 4])).at).toBe(3);
  });

  test("a page of more places does not move", () => {
    const more = after(asked, answer([12], true), { type: "go", seq: 5 }, answer([12, 40]));
    expect([more.at, more.found?.hits?.length, more.found?.place]).toEqual([5, 2, 0]);
  });

  test("nothing found is known, and stays where it is; late answers of another text are not taken", () => {
    const none = after(asked, answer([]));
    expect([none.at, none.found?.hits, none.found?.place]).toEqual([10, [], -1]);
    expect(after(none, { type: "hit", step: 1 })).toBe(none);
    const other = after(asked, { type: "find", text: "desk" });
    expect(after(other, answer([12]))).toBe(other);
  });
});

test("the conversation takes a verdict of one line, the turns all of it; v turns it", () => {
  const talked = after(at(""), { type: "view", view: "conversation" });
  expect(talked.folded).toBe(true);
  expect(after(talked, { type: "view", view: "turns" }).folded).toBe(false);
  expect(after(talked, { type: "fold" }).folded).toBe(false);
});

test("a found text is marked as it is written there", () => {
  expect(asWritten({ quote: "a Voucher of" }, "voucher")).toEqual(["Voucher"]);
  expect(asWritten({ quote: "nothing" }, "voucher")).toEqual([]);
});
