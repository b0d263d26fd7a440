"""Values that a capture module reads from a model call: the request, and the response."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model.message import Message


@dataclass(slots=True)  # not frozen: that costs a microsecond of each call
class ModelRequest:
    """Request of a model call.

    `messages` are in the provider's form, as sent; `to_message` converts one to the canonical form, and `from_message`
    back. `settings` is the rest of the request, as sent. `attributes` are the GenAI conventions' `gen_ai.request.*`.
    `shape` tells where the request has its messages; None: in a list `messages`, as in Chat Completions (see
    `playhead_collector.read.context.request_body`). `as_native` converts a message whose `content` an edit has set to a
    text to the provider's form; None: such a message is valid already.

    A request for embeddings has an `embedding_input` (texts, or what the client accepts instead) and no messages.
    """

    provider: str
    operation: str
    model: str
    messages: Sequence[Any]
    to_message: Callable[[Mapping[str, Any]], Message]
    from_message: Callable[[Message], Mapping[str, Any]]
    tools: Any = None
    system: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shape: Mapping[str, Any] | None = None
    embedding_input: Any = None
    name: str | None = None
    """The call's name in the paths of the run; None: the operation."""
    as_native: Callable[[Any], Any] | None = None
    whole: int = 0
    """How many of the first messages are known to need no cutting: see `dialect._anthropic_turns`."""

    @classmethod
    def of_embeddings(
        cls,
        provider: str,
        model: str,
        embedding_input: Any,
        *,
        settings: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
    ) -> "ModelRequest":
        """Returns a request for embeddings."""
        return cls(
            provider, "embeddings", model, (), _no_messages, _no_messages,
            settings=settings, attributes=attributes or {}, embedding_input=embedding_input,
        )  # fmt: skip


@dataclass(slots=True)
class ModelResponse:
    """A model's response. `raw` is the response as received, as JSON values, for exact replay; embeddings have only
    that, with vectors packed by `capture.vectors`. `ordered`: values in `raw` whose order of keys the program can see,
    such as tool arguments that are objects instead of text."""

    messages: Sequence[Message]
    raw: Any
    reasoning: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ordered: Sequence[Any] = ()


def _no_messages(_: Any) -> Any:
    raise TypeError("a request for embeddings has no messages")
