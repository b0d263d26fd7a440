"""What an export is made of."""

from typing import Any, NotRequired, TypedDict


class OtlpRequest(TypedDict):
    """An OTLP request in JSON: one of the two."""

    resourceSpans: NotRequired[list[dict[str, Any]]]
    resourceLogs: NotRequired[list[dict[str, Any]]]
