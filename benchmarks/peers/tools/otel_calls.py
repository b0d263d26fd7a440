"""Calls of a tool that records through OpenTelemetry's SDK: a span processor beside the tool's own."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from benchmarks.peers.recorded import RecordedCall

# Attributes with arguments, by tool; logfire has one attribute per argument.
_INPUTS = ("langfuse.observation.input", "traceloop.entity.input", "input.value", "mlflow.spanInputs")
_OUTPUT_WORDS = ("output", "return", "result")


class KeptSpans(SpanProcessor):
    """Keeps the spans that were started, until `clear`."""

    def __init__(self) -> None:
        self.keep = True
        self.spans: list[Any] = []
        self._mutex = threading.Lock()

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        if self.keep:
            with self._mutex:
                self.spans.append(span)

    def on_end(self, span: ReadableSpan) -> None:
        """Nothing: the span that was started knows its end."""

    def clear(self) -> None:
        self.spans = []


class CountingExporter(SpanExporter):
    """Counts spans; a backend that is as fast as can be."""

    def __init__(self) -> None:
        self.count = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.count += len(spans)
        return SpanExportResult.SUCCESS


class OtelTool:
    """A tool whose calls are OpenTelemetry spans. `flush` waits until its own processor has exported all."""

    def __init__(
        self,
        version: str,
        decorate: Callable[[Any], Any],
        kept: KeptSpans,
        exporter: CountingExporter,
        flush: Callable[[], object],
        name_of: Callable[[Any], str] = lambda span: span.name.rpartition(".")[2],
    ):
        self.version = version
        self.decorate = decorate
        self._kept = kept
        self._exporter = exporter
        self._flush = flush
        self._name_of = name_of

    def calls(self) -> list[RecordedCall]:
        return [self._call(span) for span in self._kept.spans]

    def reset(self) -> None:
        self._kept.keep = True
        self._kept.clear()

    def count_only(self) -> Callable[[], int]:
        self._kept.keep = False
        self._kept.clear()
        self._flush()
        before = self._exporter.count

        def wait() -> int:
            self._flush()
            return self._exporter.count - before

        return wait

    def _call(self, span: Any) -> RecordedCall:
        attributes = dict(span.attributes or {})
        text = str(attributes).lower() + str([(event.name, dict(event.attributes or {})) for event in span.events])
        found = [str(value) for key, value in attributes.items() if key in _INPUTS]
        rest = [f"{key}={value}" for key, value in attributes.items() if not any(w in key for w in _OUTPUT_WORDS)]
        error = span.status.status_code.name == "ERROR" or attributes.get("langfuse.observation.level") == "ERROR"
        return RecordedCall(
            name=self._name_of(span),
            id=f"{span.context.span_id:x}",
            parent=f"{span.parent.span_id:x}" if span.parent is not None else None,
            started_ns=span.start_time,
            ended_ns=span.end_time,
            failed=error or any(event.name == "exception" for event in span.events),
            cancelled="cancel" in text.lower(),
            input=" ".join(found or rest),
        )
