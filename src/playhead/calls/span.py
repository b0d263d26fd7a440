"""The span of an observed call: an OpenTelemetry span that goes to the journal instead of to an exporter.

It costs a third of an SDK span. If the program has a tracer provider of its own, each observed call has an SDK span
there as well (`mirror_span`) with the same ids and attributes, for the program's own exporters.
"""

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec

from opentelemetry import trace
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags
from opentelemetry.util.types import Attributes, AttributeValue

from playhead.calls.described_errors import DescribedError
from playhead.calls.flow import ExecutionFlow
from playhead.calls.propagation import handed_on
from playhead.calls.recorder import Recorder, Redact
from playhead.calls.run import ActiveRun
from playhead.kernel.guard import guarded
from playhead.model import names

# The limits of OpenTelemetry's SDK: a program may add events and attributes in an endless loop.
_MAX_EVENTS = 128
_MAX_ATTRIBUTES = 128
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)

P = ParamSpec("P")


def _never_raises(method: Callable[P, None]) -> Callable[P, None]:
    """Logs and swallows any error raised inside the wrapped span method."""

    @functools.wraps(method)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> None:
        with guarded("%s of a span", method.__name__):
            method(*args, **kwargs)

    return quiet


class ObservedSpan(trace.Span):
    """A call being observed. The methods of OpenTelemetry's `Span` behave as documented there, and never raise.

    Ids are integers here and hex in `fields`. `frames` holds the call's journal frames until they are written.
    """

    __slots__ = (
        "announced",
        "attributes",
        "enclosing",
        "end_ns",
        "error_inside",
        "events",
        "flow",
        "frames",
        "ids",
        "inner_model_calls",
        "is_replayed",
        "kind",
        "links",
        "live",
        "mirror",
        "name",
        "otel_kind",
        "outer",
        "parent_id",
        "path",
        "recorded",
        "recorder",
        "redact",
        "run",
        "sent_body",
        "span_id",
        "start_ns",
        "status",
        "status_message",
        "token",
        "trace_id",
    )

    sent_body: Callable[[], Mapping[str, Any] | None] | None
    """For a model call recorded by an instrumentation: returns the request body that the library sent last, if the
    library builds it from other arguments. None: not known, or another kind of call."""

    def __init__(
        self,
        recorder: Recorder,
        run: ActiveRun,
        kind: str,
        name: str,
        trace_id: int,
        span_id: int,
        parent_id: int | None,
    ) -> None:
        self.recorder = recorder
        self.run = run
        self.kind = kind
        self.name = name
        self.trace_id = trace_id
        self.span_id = span_id
        self.parent_id = parent_id
        self.path = ""
        self.attributes: dict[str, Any] = {}
        self.events: list[list[Any]] | None = None
        self.links: list[dict[str, Any]] | None = None
        self.status = 0
        self.status_message = ""
        self.otel_kind = 1
        self.start_ns = time.time_ns()
        self.end_ns: int | None = None
        self.frames = recorder.frames()
        self.frames.new = {}
        self.ids: tuple[int, str, str, str | None] | None = None
        self.redact: Redact | None = None
        self.mirror: trace.Span | None = None
        self.token: Any = None
        self.outer: Any = None
        """The OpenTelemetry context that was current before this span was."""
        self.enclosing: ObservedSpan | None = None
        # In a resumed or forked run. `is_replayed`: the call is not journaled, since the record has it already (or
        # until something new happens). `announced`: the record has its announcement, whose ids it took over. `live`:
        # the calls inside have diverged from the record and run live.
        self.is_replayed = False
        self.announced = False
        self.live = False
        self.recorded: Any = None
        """The recorded call that this one was matched to, if that has ended in the record; else None."""
        self.flow: ExecutionFlow | None = None
        self.error_inside: DescribedError | None = None
        """The description of the last exception that left a call inside this one."""
        self.inner_model_calls: int | None = None
        """For a model call recorded by an instrumentation: number of client calls inside that count as part of it.
        None: another kind of call."""

    @property
    def can_be_answered_from_record(self) -> bool:
        """Whether a resume or fork may answer this call from the record instead of executing its function."""
        return self.kind in names.REPLAYED_KINDS or names.REPLAYABLE in self.attributes

    def fields(self) -> list[Any]:
        """Returns the span's fields in the order that the journal stores them."""
        ids = self.ids
        if ids is None or ids[0] != self.span_id:  # a mirror span or a matched recorded call may change the ids
            self.ids = ids = self._written_ids()
        return [
            *ids[1:],
            self.name,
            self.otel_kind,
            self.start_ns,
            self.end_ns,
            self.status,
            self.status_message,
            self.attributes,
            self.events or (),
            self.links or (),
        ]

    def _written_ids(self) -> tuple[int, str, str, str | None]:
        """Returns the span id, then trace, span and parent id as hex. Reuses formatted ids of the enclosing call."""
        span_id, parent, above = f"{self.span_id:016x}", self.parent_id, self.enclosing
        if above is not None and above.ids is not None and above.ids[0] == parent and above.trace_id == self.trace_id:
            return (self.span_id, above.ids[1], span_id, above.ids[2])
        return (self.span_id, f"{self.trace_id:032x}", span_id, f"{parent:016x}" if parent else None)

    # --- OpenTelemetry's Span -------------------------------------------------------------------------------------

    def get_span_context(self) -> SpanContext:
        """Returns the span's context. Its trace state names the run and this call, for other instrumentations, whose
        spans become children of this one, and for other processes."""
        if self.mirror is not None:
            context = self.mirror.get_span_context()
        else:
            context = SpanContext(self.trace_id, self.span_id, is_remote=False, trace_flags=_SAMPLED)
        return handed_on(self, context)

    def is_recording(self) -> bool:
        """Returns True until the span has ended."""
        return self.end_ns is None

    @_never_raises
    def set_attribute(self, key: str, value: AttributeValue) -> None:
        """Sets an attribute. Do not put payloads here: use the observed function's arguments and result."""
        if self.end_ns is None and (key in self.attributes or len(self.attributes) < _MAX_ATTRIBUTES):
            self.attributes[key] = value

    @_never_raises
    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Sets each attribute with `set_attribute`."""
        for key, value in attributes.items():
            self.set_attribute(key, value)

    @_never_raises
    def add_event(self, name: str, attributes: Attributes = None, timestamp: int | None = None) -> None:
        """Adds a span event."""
        if self.end_ns is not None:
            return
        self.events = self.events or []
        if len(self.events) < _MAX_EVENTS:
            self.events.append([name, timestamp or time.time_ns(), dict(attributes or {})])

    @_never_raises
    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        """Adds a link to another span."""
        if self.end_ns is not None:
            return
        self.links = self.links or []
        if len(self.links) < _MAX_EVENTS:
            if self.mirror is not None:
                self.mirror.add_link(context, attributes)
            ids = {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
            self.links.append({**ids, "attributes": dict(attributes or {})})

    def update_name(self, name: str) -> None:
        """Renames the span; its call path, which was derived from the old name, stays."""
        if self.end_ns is None:
            self.name = name
            if self.mirror is not None:
                self.mirror.update_name(name)

    @_never_raises
    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Sets the status by hand; an exception that leaves the call sets it automatically."""
        if self.end_ns is not None:
            return
        code = status if isinstance(status, StatusCode) else status.status_code
        message = description if isinstance(status, StatusCode) else status.description
        self.status, self.status_message = code.value, self.recorder.text(message or "", self.redact)

    @_never_raises
    def record_exception(
        self,
        exception: BaseException,
        attributes: Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """Adds an event for an exception that the call survived, with its type. Its text becomes content when the span
        is written.
        """
        kind = type(exception)
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        self.add_event("exception", {"exception.type": name, **(attributes or {})}, timestamp)

    def end(self, end_time: int | None = None) -> None:
        """Does nothing: the observed call ends its span when it returns."""
