// Runs as other exporters send them.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { URL_OF_COLLECTOR } from "./browser.ts";

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const agentIs = (agent: string) => [text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", agent)];

/** What an OpenTelemetry exporter sends of runs with one call each. */
export async function recordSpans(agent: string, times = 1): Promise<void> {
  const now = Date.now();
  const attributes = agentIs(agent);
  const spans = Array.from({ length: times }, (_, n) => {
    const startTimeUnixNano = `${now - 1_000 * (times - n)}000000`;
    return { traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex"), name: `invoke_agent ${agent}`, kind: 1, startTimeUnixNano, endTimeUnixNano: startTimeUnixNano, attributes };
  });
  await send(spans);
}

/** A run whose calls of a model took these times, in ms since it began; the agent's span ends with the last. */
export async function recordCalls(agent: string, calls: readonly (readonly [start: number, end: number])[]): Promise<void> {
  const began = Date.now() - 3_600_000;
  const traceId = randomBytes(16).toString("hex");
  const parentSpanId = randomBytes(8).toString("hex");
  const span = (spanId: string, name: string, start: number, end: number, attributes: object[], more = {}) => ({ traceId, spanId, name, kind: 1, startTimeUnixNano: `${began + start}000000`, endTimeUnixNano: `${began + end}000000`, attributes, ...more });
  const chat = [text("gen_ai.operation.name", "chat"), text("gen_ai.request.model", "gpt-4o"), text("gen_ai.provider.name", "openai")];
  await send([
    span(parentSpanId, `invoke_agent ${agent}`, 0, Math.max(...calls.map(([, end]) => end)), agentIs(agent)),
    ...calls.map(([start, end]) => span(randomBytes(8).toString("hex"), "chat gpt-4o", start, end, chat, { parentSpanId })),
  ]);
}

async function send(spans: object[]): Promise<void> {
  const body = JSON.stringify({ resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: "test" }, spans }] }] });
  const answer = await fetch(`${URL_OF_COLLECTOR}/v1/traces`, { method: "POST", headers: { "content-type": "application/json" }, body });
  assert.equal(answer.status, 200);
}
