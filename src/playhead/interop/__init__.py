"""other spans → [interop] → recorder.  Records spans and content of other instrumentations in the same process.

    readable_spans     copies a span of OpenTelemetry's SDK, with refs instead of content, and records the content
    ref_spans          `RefSpanExporter`, `RefLogExporter`: any exporter gets refs instead of content;
                       `RefSpanProcessor`: the same for a processor; also records the spans
    completion_hook    OpenTelemetry's hook for the content of GenAI calls
    blob_uploader      OpenInference's hook for large binary content
    zero_code          the parts that `opentelemetry-instrument` and `playhead run` switch on

Why exporters are wrapped, and spans are not changed: docs/adr/0007-refs-in-others-spans.md.
"""
