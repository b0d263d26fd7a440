"""Detects the format of a file from its first document or its first bytes."""

from typing import Any, Literal, cast

Format = Literal["playhead", "otlp", "phoenix", "langfuse"]
FORMATS: tuple[Format, ...] = ("playhead", "otlp", "phoenix", "langfuse")

_OTLP = {"resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics"}
_PARQUET = b"PAR1"
_TAR_AT, _TAR = 257, b"ustar"
# Keys that only rows of Langfuse have: camelCase from the API and the UI, snake_case from exports to blob storage.
_LANGFUSE = {"observations", "traceId", "trace_id", "userId", "user_id", "sessionId", "session_id", "htmlPath"}


def is_parquet(first: bytes) -> bool:
    """Whether these are the first bytes of a Parquet file."""
    return first.startswith(_PARQUET)


def is_tar(first: bytes) -> bool:
    """Whether these are the first bytes of a tar file."""
    return first[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR


def is_json(first: bytes) -> bool:
    """Whether these are the first bytes of a JSON file."""
    return first.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1] in (b"{", b"[")


def format_of(document: Any) -> Format | None:
    """Returns the format of a JSON document; None if it is unknown."""
    if isinstance(document, list):
        return next((format_name for item in cast(list[Any], document)[:1] if (format_name := format_of(item))), None)
    if not isinstance(document, dict):
        return None
    value = cast(dict[str, Any], document)
    if not _OTLP.isdisjoint(value):
        return "otlp"
    if "context.span_id" in value or isinstance(value.get("context"), dict):
        return "phoenix"
    inner = value.get("data")
    if isinstance(inner, list):  # a page of an API: {"data": [...], ...}
        return format_of(cast(list[Any], inner))
    if isinstance(value.get("trace"), dict) or ("id" in value and not _LANGFUSE.isdisjoint(value)):
        return "langfuse"
    return None
