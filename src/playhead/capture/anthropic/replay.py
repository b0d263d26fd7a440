"""Restores a recorded `anthropic` answer as the object that the live call returned."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.capture.stainless import replay
from playhead.capture.stainless.replay import AnswerForm

_MESSAGE = AnswerForm("anthropic", "content", "anthropic.types", "Message", names_events=True, request_id="request-id")
_BETA = AnswerForm(
    "anthropic", "content", "anthropic.types.beta", "BetaMessage", names_events=True, request_id="request-id"
)


def restore(
    raw: Any,
    kwargs: Mapping[str, Any],
    client: Any,
    *,
    method: str,
    is_async: bool,
    ending: BaseException | None = None,
) -> Any:
    """Rebuilds what `client.method(**kwargs)` returned from `raw`; for `stream`, the stream that its helper reads.

    See `stainless.replay`.  Raises CannotRestore.
    """
    streamed = method == "stream" or kwargs.get("stream") is True
    if method == "stream":
        kwargs = {key: value for key, value in kwargs.items() if key != "output_format"} | {"stream": True}
        method = "create"
    return replay.restore(
        raw, _form(client), kwargs, client, method=method, streamed=streamed, is_async=is_async, ending=ending
    )


def _form(resource: Any) -> AnswerForm:
    modules_of = [kind.__module__ for kind in cast(Any, type(resource)).__mro__]
    return _BETA if any("beta" in name for name in modules_of) else _MESSAGE
