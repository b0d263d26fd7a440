import { expect, test } from "vitest";

import type { RunSummary } from "../api/types";
import { besideName, cellText, DEFAULT_COLUMNS, readColumns, scoreName } from "./columns";

const RUN = {
  run: "0".repeat(24) + "0badcafe",
  tags: [],
  session: null,
  user: null,
  llm_calls: 10,
  tool_calls: 5,
  input_tokens: 52305,
  output_tokens: 577,
  context_peak: 640,
  context_limit: 128000,
} as unknown as RunSummary;

test("columns are those that were chosen, in their order, or the usual ones", () => {
  expect(readColumns(null)).toBe(DEFAULT_COLUMNS);
  expect(readColumns("cost,score,gone")).toEqual(["score", "cost"]);
  expect(readColumns("")).toEqual([]);
});

test("the score's column has the score's name, if all have the same", () => {
  const scored = (name: string) => ({ scored: [{ name, value: 1, label: null }] });
  expect(scoreName([scored("reward"), { scored: [] }])).toBe("reward");
  expect(scoreName([scored("reward"), scored("quality")])).toBe("score");
  expect(scoreName([])).toBe("score");
});

test("cells", () => {
  expect(cellText("turns", RUN)).toBe("10 / 5");
  expect(cellText("tokens", RUN)).toBe("52,305 → 577");
  const large = { ...RUN, input_tokens: 12_345_678, output_tokens: 999_999 };
  expect(cellText("tokens", large)).toBe("12.3\u00a0M → 999,999");
  expect(cellText("peak", RUN)).toBe("640 0.5\u00a0%");
});

test("a run is told from others of its name by its task, session and user, or id", () => {
  expect(besideName({ ...RUN, tags: ["eu", "task:6"], user: "ada" })).toBe("task:6");
  expect(besideName({ ...RUN, session: "discounts", user: "ada" })).toBe("discounts · ada");
  expect(besideName(RUN)).toBe("0badcafe");
});
