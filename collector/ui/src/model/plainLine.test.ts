import { expect, test } from "vitest";

import { plainLine } from "./plainLine";

test.each([
  ["**Flight RX110** from `Graz`:", "Flight RX110 from Graz:"],
  ["# Result\n\nIt is **13", "Result It is 13"],
  ["see [the page](https://example.org/a) now", "see the page now"],
  ["2**8 is 256, and #4 is next", "2**8 is 256, and #4 is next"],
  ["call __init__ of snake_case", "call __init__ of snake_case"],
  ["| day | open |\n|---|:--:|\n| Monday | no |", "day open Monday no"],
  ["a | b and ---", "a | b and ---"],
  ["```python\nx = 1\n```", "x = 1"],
  ["- one\n- two", "- one - two"],
])("%s", (text, line) => expect(plainLine(text)).toBe(line));
