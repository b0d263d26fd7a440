"""OpenTelemetry's SDK, for all of ours that observes calls; also where its import refuses what a variable says."""

import os
from collections.abc import Generator
from contextlib import contextmanager

from playhead.api.guard import warn_once

# The one variable that the SDK reads when it is imported: it raises then, into the program's import of Playhead.
_READ_AT_IMPORT = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"


@contextmanager
def _without_limit(error: ValueError) -> Generator[None]:
    """Unsets the variable for a block.  Raises `error` where there is none, so that another is the cause."""
    value = os.environ.pop(_READ_AT_IMPORT, None)
    if value is None:
        raise error
    try:
        yield
    finally:
        os.environ[_READ_AT_IMPORT] = value
    warn_once(f"limit {error}", f"{error}: OpenTelemetry's default is used")


try:
    from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
except ValueError as refused:
    with _without_limit(refused):
        from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider

__all__ = ["ReadableSpan", "Span", "SpanLimits", "SpanProcessor", "TracerProvider"]
