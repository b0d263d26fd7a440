"""Notes the body that LiteLLM makes for a provider, where LiteLLM logs each request before it sends it."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from playhead.capture.patching import Wrap
from playhead.capture.sent_request import note_sent_body
from playhead.kernel.guard import swallowed
from playhead.model.objects.interrupts import let_through

# Arguments of OpenAI's client that are no part of the body.
_NOT_SENT = frozenset({"extra_body", "extra_headers", "extra_query", "timeout"})


def _pre_call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        more: Any = args[3] if len(args) > 3 else kwargs.get("additional_args")
        body: Any = cast("Mapping[str, Any]", more).get("complete_input_dict") if isinstance(more, Mapping) else None
        if body is not None:
            note_sent_body(partial(_read, body))
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("read a request of litellm", error)
    return wrapped(*args, **kwargs)


def _read(body: Any) -> Mapping[str, Any] | None:
    """Returns the body as JSON values.  Called after the request was sent: until then, LiteLLM adds to it."""
    if isinstance(body, str | bytes):
        body = json.loads(body)
    if not isinstance(body, Mapping):
        return None
    fields = cast("Mapping[str, Any]", body)
    sent = {key: value for key, value in fields.items() if key not in _NOT_SENT}
    return {**sent, **(fields.get("extra_body") or {})}


PRE_CALL = Wrap("litellm.litellm_core_utils.litellm_logging", "Logging.pre_call", _pre_call, is_optional=True)
