"""Dialects: the message formats of other APIs and conventions. One file per dialect, each with the functions of
`Dialect`; `parts` has what they share, `tool_definitions` the forms of definitions of tools. Pure.

Converting loses nothing: `from_message(to_message(native)) == native`, except for keys that are null, the order of
keys, and white space and the spelling of numbers inside JSON arguments. The parts shape has no field for some native
keys. These are kept under `extra`, of the message or of a part:

- a key of the native message or part, with its value;
- a key with null: the native message did not have this key, although its format normally has it.
"""

from collections.abc import Iterable
from typing import Any, Protocol

from playhead.model.json_value import Json, JsonMapping
from playhead.model.message import Message


class Dialect(Protocol):
    """The functions and the constant that every dialect module has."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """Name of the dialect."""
        ...

    def to_message(self, native: JsonMapping, /) -> Message:
        """Returns the canonical form. It may share values with the native message: treat both as immutable."""
        ...

    def from_message(self, message: Message, /) -> Json:
        """Returns the native form. A message that came from another dialect is written as closely as this one can
        express it."""
        ...

    def to_messages(self, natives: Iterable[JsonMapping], /) -> list[Message]:
        """Converts each message with `to_message`."""
        ...

    def from_messages(self, messages: Iterable[Message], /) -> list[Json]:
        """Converts each message with `from_message`."""
        ...

    def output_message(self, native: JsonMapping, /) -> tuple[Message, Any]:
        """Returns a model's answer, and its reasoning (None: there is none).

        Most clients do not send reasoning back, so it is removed from the message: then the answer has the same ref as
        output of one call and as input of the next. A dialect whose clients send reasoning back keeps it in the
        message.
        """
        ...
