"""Span processor and exporters that pass on refs instead of content.

`RefSpanProcessor` records the spans of other instrumentations, and gives refs to a processor that has no exporter to
wrap. `RefSpanExporter` and `RefLogExporter` wrap any exporter, which then gets refs instead of content.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from playhead.calls import runtime
from playhead.calls.mirror_span import program_provider, record_outer_span, set_run_id
from playhead.capture.preference import is_preferred_scope
from playhead.interop.readable_spans import log_with_refs, with_refs
from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.span import Span as RecordedSpan
from playhead.recording import RecordingProcess

# --- processor --------------------------------------------------------------------------------------------------------


# Limit of open spans around recorded spans that one processor remembers. Above it, the recorded tree has gaps.
_MAX_ENCLOSING = 10_000


class RefSpanProcessor(SpanProcessor):
    """Records spans that other instrumentations make, so that their agents, model calls and tools are in the collector.

        provider.add_span_processor(RefSpanProcessor())

    Records spans about models, agents, tools and retrieval, spans with content, and the spans around these.  With
    `all_spans`, records all other spans, too, for example those of HTTP clients and databases.  Spans that are not
    sampled are left out, unless `PLAYHEAD_RECORD=always`.

    `inner` is another processor: it gets each span with refs in place of its content, as an exporter does from
    `RefSpanExporter`.  With `record=False`, spans are only passed on to `inner`, and not recorded.
    """

    def __init__(self, inner: SpanProcessor | None = None, *, record: bool = True, all_spans: bool = False):
        """Raises TypeError if `inner` is not a span processor."""
        if inner is not None and not callable(getattr(inner, "on_end", None)):
            raise TypeError(f"{inner!r} is not a span processor; for an exporter, there is playhead.RefSpanExporter")
        self._inner = inner
        self._record = record
        self._all_spans = all_spans
        self._enclosing: OrderedDict[int, None] = OrderedDict()
        self._mutex = ForkSafeLock()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if self._record:
            set_run_id(span, parent_context)  # only the global provider has our processor that sets it
        if self._inner is not None:
            self._inner.on_start(span, parent_context)

    def _on_ending(self, span: Span) -> None:
        ending: Any = getattr(self._inner, "_on_ending", None)
        if ending is not None:
            ending(span)

    def on_end(self, span: ReadableSpan) -> None:
        lifted = with_refs(span)
        with guarded("record another instrumentation's span"):
            if self._record and lifted.recorded is not None:
                self._take(span, lifted.recorded, has_content=lifted.has_content)
        if self._inner is not None:
            self._inner.on_end(lifted.changed or span)

    def shutdown(self) -> None:
        """Stops recording, and shuts `inner` down. Tracers that a library keeps still pass us spans of a provider that
        was shut down; these are not recorded."""
        self._record = False
        if self._inner is not None:
            self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True if self._inner is None else self._inner.force_flush(timeout_millis)

    def _take(self, span: ReadableSpan, recorded: RecordedSpan, *, has_content: bool) -> None:
        to, context, parent = runtime.current.recorder, span.context, span.parent
        if to is None or context is None or not (context.trace_flags.sampled or to.always):
            return
        with self._mutex:
            is_enclosing = self._enclosing.pop(context.span_id, self) is None
        if record_outer_span(span):
            return
        if not (is_enclosing or has_content or self._all_spans or names.KIND in recorded.attributes):
            return
        with self._mutex:
            if parent is not None and not parent.is_remote:
                self._enclosing[parent.span_id] = None
                if len(self._enclosing) > _MAX_ENCLOSING:
                    self._enclosing.popitem(last=False)
        if is_preferred_scope(recorded.scope):
            recorded.attributes[names.PREFERRED] = True
        frames = to.frames()
        frames.new = {}
        to.journal_end(_journal_fields(recorded), frames)


def _journal_fields(span: RecordedSpan) -> list[Any]:
    """Returns the span's fields in the order that the journal stores them."""
    return [
        span.trace_id, span.span_id, span.parent_id, span.name, span.kind, span.start_ns, span.end_ns,
        span.status, span.status_message, span.attributes,
        [[event.name, event.time_ns, event.attributes] for event in span.events], span.links,
        span.scope or "(no name)",
    ]  # fmt: skip


if TYPE_CHECKING:
    from opentelemetry.sdk._logs.export import LogRecordExporter as _LogExporter
else:
    _LogExporter = object  # the SDK's class has had several names, and programs load it only if they export logs


# --- exporters --------------------------------------------------------------------------------------------------------


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
        self._inner = _checked_exporter(inner, "RefSpanExporter(OTLPSpanExporter())")
        if _flush_provider not in RecordingProcess.before_exit:
            RecordingProcess.before_exit.append(_flush_provider)

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
        self._inner = _checked_exporter(inner, "RefLogExporter(OTLPLogExporter())")

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
    with guarded("flush the program's spans"):  # the program's own exporter may raise anything
        provider = program_provider()
        if provider is not None:
            provider.force_flush()


def _checked_exporter(inner: Any, example: str) -> Any:
    if isinstance(inner, type) or not callable(getattr(inner, "export", None)):
        raise TypeError(f"{inner!r} is not an exporter; give it one to send to: {example}")
    return inner
