// Runs as other exporters send them: one call each.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { URL_OF_COLLECTOR } from "./browser.ts";

/** What an OpenTelemetry exporter sends of runs with one call each. */
export async function recordSpans(agent: string, times = 1): Promise<void> {
  const now = Date.now();
  const attributes = [{ key: "gen_ai.operation.name", value: { stringValue: "invoke_agent" } }, { key: "gen_ai.agent.name", value: { stringValue: agent } }];
  const spans = Array.from({ length: times }, (_, n) => {
    const startTimeUnixNano = `${now - 1_000 * (times - n)}000000`;
    return { traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex"), name: `invoke_agent ${agent}`, kind: 1, startTimeUnixNano, endTimeUnixNano: startTimeUnixNano, attributes };
  });
  const body = JSON.stringify({ resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: "test" }, spans }] }] });
  const answer = await fetch(`${URL_OF_COLLECTOR}/v1/traces`, { method: "POST", headers: { "content-type": "application/json" }, body });
  assert.equal(answer.status, 200);
}
