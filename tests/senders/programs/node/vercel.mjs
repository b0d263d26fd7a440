// The Vercel AI SDK with its own telemetry, as OpenTelemetry's SDK for JavaScript sends it: an agent loop with a tool.
import { createOpenAI } from "@ai-sdk/openai";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import * as ai from "ai";
import { z } from "zod";

const SYSTEM = "You are a weather clerk. Marker-system.";
const QUESTION = "What is the weather in Oslo? Marker-question.";
const FOLLOW_UP = "And what do I wear? Marker-follow-up.";
const { generateText, streamText, tool } = ai;
const steps = (ai.isStepCount ?? ai.stepCountIs)(5);

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
const telemetry = { isEnabled: true, functionId: "clerk", metadata: { sessionId: "session-7", userId: "user-7" } };
let settings = { experimental_telemetry: telemetry };
if (process.env.AI_SDK_OTEL) {
  const otel = await import("@ai-sdk/otel");
  const Telemetry = process.env.AI_SDK_OTEL === "legacy" ? otel.LegacyOpenTelemetry : otel.OpenTelemetry;
  ai.registerTelemetry(new Telemetry());
  settings = { telemetry: { isEnabled: true, functionId: "clerk" } };
}
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: "none" });
const tools = {
  look_up_weather: tool({
    description: "The weather of a city. Marker-description.",
    inputSchema: z.object({ city: z.string() }),
    execute: async () => "Rain all day. Marker-result.",
  }),
};
const model = openai.chat("mock-model");
const first = await generateText({
  model, tools, stopWhen: steps, ...settings, [process.env.AI_SDK_OTEL ? "instructions" : "system"]: SYSTEM,
  messages: [{ role: "user", content: QUESTION }],
});
const messages = [{ role: "user", content: QUESTION }, ...(process.env.AI_SDK_OTEL ? first.steps.flatMap((step) => step.response.messages) : first.response.messages), { role: "user", content: FOLLOW_UP }];
const second = streamText({
  model, tools, stopWhen: steps, ...settings, [process.env.AI_SDK_OTEL ? "instructions" : "system"]: SYSTEM, messages,
});
for await (const _ of second.textStream) { /* read */ }
await provider.forceFlush();
await provider.shutdown();
