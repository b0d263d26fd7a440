import { expect, test } from "vitest";

import type { ValueOrigin } from "../../api/types";
import { doubt, originText } from "./origins";

const origin = (source: string, more: Partial<ValueOrigin> = {}) =>
  ({ source, how: "exact", suspect: false, unfounded: [], another_subject: null, ...more }) as ValueOrigin;

test("invented is said of doubtful values only, and not of what the program or the model built", () => {
  expect(originText(origin("invented", { suspect: true }))).toMatch(/^invented/);
  expect(originText(origin("invented"))).not.toMatch(/invented/);
  expect(originText(origin("derived", { how: "code" }))).toBe("derived (code)");
  expect(originText(origin("user"))).toBe("said by the user");
});

test("what makes a value doubtful is said", () => {
  expect(doubt(origin("user"))).toBeNull();
  expect(doubt(null)).toBeNull();
  expect(doubt(origin("invented", { suspect: true }))).toBe("no origin");
  expect(doubt(origin("user", { suspect: true, unfounded: ["207"] }))).toBe("no origin: 207");
  const another = { path: "id", value: "A1", others: ["B2"] };
  expect(doubt(origin("tool_result", { suspect: true, another_subject: another }))).toBe("belongs to B2, not to A1");
});
