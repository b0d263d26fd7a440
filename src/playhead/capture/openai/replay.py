"""Restores a recorded `openai` response as the object that the live call returned."""

from collections.abc import Mapping
from types import MappingProxyType

from playhead.capture import stainless
from playhead.capture.openai.compatible import DONE
from playhead.capture.stainless import AnswerForm

_CHAT = AnswerForm("openai", "choices", "openai.types.chat", "ChatCompletion", names_events=False, last_event=DONE)
COMPLETION = AnswerForm("openai", "choices", "openai.types", "Completion", names_events=False, last_event=DONE)
EMBEDDING = AnswerForm("openai", "data", "openai.types", "CreateEmbeddingResponse", names_events=False)
_RESPONSES = AnswerForm("openai", "output", "openai.types.responses", "Response", names_events=True)


def restore(
    raw: object,
    kwargs: Mapping[str, object],
    client: object,
    *,
    method: str,
    is_async: bool,
    headers: Mapping[str, str] = MappingProxyType({}),
    ending: BaseException | None = None,
) -> object:
    """Rebuilds what `client.method(**kwargs)` returned from `raw`; see `stainless.replay`.  Raises CannotRestore."""
    streamed = kwargs.get("stream") is True
    return stainless.restore(
        raw, _form(client), kwargs, client,
        method=method, streamed=streamed, is_async=is_async, headers=headers, ending=ending,
    )  # fmt: skip


def _form(resource: object) -> AnswerForm:
    modules_of = [kind.__module__ for kind in type(resource).__mro__]
    return _RESPONSES if any(name.startswith("openai.resources.responses") for name in modules_of) else _CHAT
