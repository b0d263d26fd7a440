"""Imports the names of OpenTelemetry's SDK for our modules, even if an invalid environment variable makes its import
fail."""

import os
from collections.abc import Generator
from contextlib import contextmanager

from playhead.kernel.guard import warn_once

# The SDK reads this variable when it is imported. An invalid value raises, which must not break `import playhead`.
_READ_AT_IMPORT = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"


@contextmanager
def _without_limit(error: ValueError) -> Generator[None]:
    """Unsets the variable for a block. Raises `error` if the variable is not set: the cause is then another one."""
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
