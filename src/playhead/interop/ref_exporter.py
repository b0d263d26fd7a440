"""`RefSpanExporter` and `RefLogExporter`: wrap any exporter, which then gets refs instead of content."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from playhead.calls.mirror_span import program_provider
from playhead.interop.readable_spans import log_with_refs, with_refs
from playhead.kernel.guard import swallowed
from playhead.model.objects.interrupts import let_through
from playhead.recording import ProcessState

if TYPE_CHECKING:
    from opentelemetry.sdk._logs.export import LogRecordExporter as _LogExporter
else:
    _LogExporter = object  # the SDK's class has had several names, and programs load it only if they export logs


class RefSpanExporter(SpanExporter):
    """Passes each span on to `inner`, an exporter of spans, with refs in place of its content.

        provider.add_span_processor(BatchSpanProcessor(RefSpanExporter(OTLPSpanExporter())))

    Prompts, answers, arguments, results and documents become refs (`gen_ai.input.messages_ref`, ...); the content goes
    to the journal, and from there to the Playhead collector.  All other attributes stay.  The program's other exporters
    and processors are not affected, whatever their order: the span itself is not changed.
    Where nothing is recorded (`OTEL_SDK_DISABLED`, `PLAYHEAD_CAPTURE_CONTENT=false`), content is left out.
    """

    def __init__(self, inner: SpanExporter):
        """Raises TypeError if `inner` is not an exporter."""
        self._inner = _exporter(inner, "RefSpanExporter(OTLPSpanExporter())")
        if _flush_provider not in ProcessState.before_exit:
            ProcessState.before_exit.append(_flush_provider)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._inner.export([with_refs(span).changed or span for span in spans])

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


class RefLogExporter(_LogExporter):
    """Passes each record on to `inner`, an exporter of log records, with refs in place of a model call's content.

        logger_provider.add_log_record_processor(BatchLogRecordProcessor(RefLogExporter(OTLPLogExporter())))

    Replaces content in GenAI events (`gen_ai.client.inference.operation.details`, `gen_ai.user.message`, ...) and in
    the attributes of all log records.  The body of an ordinary log line stays.
    """

    def __init__(self, inner: Any):
        """Raises TypeError if `inner` is not an exporter."""
        self._inner = _exporter(inner, "RefLogExporter(OTLPLogExporter())")

    def export(self, batch: Sequence[Any]) -> Any:
        """Exports the records with refs, and returns the result of `inner`."""
        return self._inner.export([log_with_refs(log) for log in batch])

    def shutdown(self) -> None:
        """Shuts `inner` down."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flushes `inner` if it has `force_flush`. Returns its result; True if it has none."""
        flush = getattr(self._inner, "force_flush", None)
        return True if flush is None else bool(flush(timeout_millis))


def _flush_provider() -> None:
    """Exports the spans that wait in the program's tracer provider, before recording ends: the provider's own exit
    function may run later."""
    try:
        provider = program_provider()
        if provider is not None:
            provider.force_flush()
    except BaseException as error:  # noqa: BLE001 - the guard: the program's own exporter may raise anything
        let_through(error)
        swallowed("flush the program's spans", error)


def _exporter(inner: Any, example: str) -> Any:
    if isinstance(inner, type) or not callable(getattr(inner, "export", None)):
        raise TypeError(f"{inner!r} is not an exporter; give it one to send to: {example}")
    return inner
