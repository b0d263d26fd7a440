import { expect, test } from "vitest";

import { changed, conditionsIn, hasTotals, heldConditions, isFiltered, orderOf, sortedBy, viewQuery } from "./query";

const at = (query: string) => new URLSearchParams(query);

test("conditions of the address are asked for, everything else is not", () => {
  const asked = conditionsIn(at("outcome=failed&outcome=crashed&tool=f&color=red"));
  expect(asked.outcome).toEqual(["failed", "crashed"]);
  expect(asked.tool).toBe("f");
  expect("color" in asked).toBe(false);
  expect(isFiltered(at("color=red"))).toBe(false);
  expect(isFiltered(at("outcome=failed"))).toBe(true);
});

test("a column sorts by its greatest, then by its least, then not", () => {
  const first = changed(at(""), sortedBy("cost", orderOf(at(""))));
  expect(orderOf(first)).toEqual({ by: "cost", isAscending: false });
  const second = changed(first, sortedBy("cost", orderOf(first)));
  expect(orderOf(second)).toEqual({ by: "cost", isAscending: true });
  expect(changed(second, sortedBy("cost", orderOf(second))).toString()).toBe("");
  expect(orderOf(at("sort=colour")).by).toBe("attention");
});

test("a view is the same however it was written", () => {
  expect(viewQuery(at("tool=f&outcome=b&outcome=a&peek=1"))).toBe(viewQuery(at("outcome=a&outcome=b&tool=f")));
  expect(viewQuery(at("sort=cost"))).not.toBe(viewQuery(at("")));
});

test("what holds is said, and can be taken back", () => {
  const query = at("since=1&until=2&cost_above=0.1&outcome=failed&outcome=crashed");
  const held = heldConditions(query, (time) => `t${time}`);
  expect(held.map((each) => each.label)).toEqual([
    "outcome: failed or crashed",
    "started from t1 until t2",
    "cost > $0.1",
  ]);
  let left = query;
  for (const each of held) left = changed(left, each.changes);
  expect(left.toString()).toBe("");
});

test("runs that belong together have no totals", () => {
  expect(hasTotals(at("fork_of=1"))).toBe(false);
  expect(hasTotals(at("tool=f"))).toBe(true);
});
