import { expect, test } from "vitest";

import type { SourceLine } from "../../api/types";
import { folded } from "./frames";

const frame = (file: string, library = false): SourceLine => ({ file, line: 1, function: "f", code: null, library });

test("frames of libraries are counted in their place", () => {
  const frames = [frame("a.py"), frame("lib1", true), frame("lib2", true), frame("b.py"), frame("lib3", true)];
  expect(folded(frames, false)).toEqual([frames[0], { hidden: 2 }, frames[3], { hidden: 1 }]);
  expect(folded(frames, true)).toEqual(frames);
});

test("where no frame is the program's, the last one is shown", () => {
  const frames = [frame("lib1", true), frame("lib2", true)];
  expect(folded(frames, false)).toEqual([{ hidden: 1 }, frames[1]]);
});
