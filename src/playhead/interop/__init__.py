"""others' spans → [interop] → recorder.  Other people's instrumentation in the same process.

    recorded_content   what is lifted out of others' spans goes to the journal
    readable_spans     a span of OpenTelemetry's SDK → the same span with refs
    ref_exporter       `RefSpanExporter`, `RefLogExporter`: any exporter gets refs instead of content
    ref_processor      `RefSpanProcessor`: the same for a processor, and others' spans are recorded
    completion_hook    OpenTelemetry's hook for the content of GenAI calls
    blob_uploader      OpenInference's hook for large binary content
    zero_code          what `opentelemetry-instrument` and `playhead run` switch on

Why an exporter is wrapped, and no span changed: docs/adr/0007-refs-in-others-spans.md.
"""
