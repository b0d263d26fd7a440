"""Dialects: how others write messages, one file or folder each, all of one shape (`Dialect`).  Pure.

Normalising loses nothing: `from_message(to_message(native)) == native` up to null-valued keys, the order of keys, and
white space and the spelling of numbers inside JSON arguments.  What the parts shape has no word for stands under
`extra`, of the message or of a part:

- a key of the native message or part, with its value, when it could not be said otherwise;
- a null under `extra`: the native had no such key, although its writer could expect one.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from playhead.model.message import Message


class Dialect(Protocol):
    """What every module here has."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """What the dialect is called."""
        ...

    def to_message(self, native: Mapping[str, Any], /) -> Message:
        """The canonical form.  It may share values with the native message: treat both as immutable."""
        ...

    def from_message(self, message: Message, /) -> dict[str, Any]:
        """The native form; of a message that came from another dialect, as near as this one can say it."""
        ...

    def to_messages(self, natives: Iterable[Mapping[str, Any]], /) -> list[Message]:
        """`to_message` of each."""
        ...

    def from_messages(self, messages: Iterable[Message], /) -> list[dict[str, Any]]:
        """`from_message` of each."""
        ...

    def output_message(self, native: Mapping[str, Any], /) -> tuple[Message, Any]:
        """A model's answer without its reasoning, and the reasoning (None: there was none).

        Clients rarely send reasoning back: apart from it, the answer has the same ref as output of one call and as
        input of the next.
        """
        ...
