import { expect, test } from "vitest";

import type { RecordedEvent } from "../../api/types";
import { previousCall, summarised } from "./calls";

const event = (seq: number, kind: string, span: string, data: Record<string, unknown> = {}, actor = "reviewer") =>
  ({ seq, kind, span, actor, data, refs: {} }) as unknown as RecordedEvent;

test("the call before is one of the same agent, also beside others of its name", () => {
  const events = [
    event(1, "run_started", "root"),
    event(2, "step_started", "a", { step_kind: "agent", parent: "root" }),
    event(3, "step_started", "b", { step_kind: "agent", parent: "root" }),
    event(4, "llm_called", "m1", { parent: "a" }),
    event(5, "llm_called", "m2", { parent: "b" }),
    event(6, "step_started", "s", { step_kind: "step", parent: "a" }),
    event(7, "llm_called", "m3", { parent: "s" }),
  ];
  expect([4, 5, 7].map((seq) => previousCall(events, { seq, actor: "reviewer" }))).toEqual([null, null, 4]);
});

test("records without parents go by the agent's name", () => {
  const events = [event(1, "llm_called", "a"), event(2, "llm_called", "b", {}, "other"), event(3, "llm_called", "c")];
  expect([1, 2, 3].map((seq) => previousCall(events, events[seq - 1] as RecordedEvent))).toEqual([null, null, 1]);
});

test("messages that a compression between two calls summarised", () => {
  const events = [
    event(1, "context_compressed", "a", { summarised: ["x"] }),
    event(2, "context_compressed", "a", { summarised: ["y", "z"] }),
    event(3, "context_compressed", "a"),
  ];
  expect([...summarised(events, 1, 3)]).toEqual(["y", "z"]);
});
