// OpenTelemetry's SDK for JavaScript with one of its exporters, which SENDER_EXPORTER names: proto, http (JSON) or grpc.
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const { OTLPTraceExporter } = await import(`@opentelemetry/exporter-trace-otlp-${process.env.SENDER_EXPORTER}`);
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
const tracer = provider.getTracer("app");
const said = (role, content) => JSON.stringify([{ role, parts: [{ type: "text", content }] }]);
await tracer.startActiveSpan("clerk", async (clerk) => {
  const turns = [
    ["What is the weather in Oslo? Marker-question.", "It rains in Oslo. Marker-answer."],
    ["And what do I wear? Marker-follow-up.", "Wear a coat. Marker-last."],
  ];
  for (const [question, answer] of turns) {
    const call = tracer.startSpan("chat mock-model", {
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "mock-model",
        "gen_ai.input.messages": said("user", question),
        "gen_ai.output.messages": said("assistant", answer),
      },
    });
    await new Promise((resolve) => setTimeout(resolve, 5)); // clocks here have milliseconds
    call.end();
  }
  clerk.end();
});
await provider.forceFlush();
await provider.shutdown();
