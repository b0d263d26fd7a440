"""Roles and (for a few) texts of messages, for the projector. Pure: it notes which messages have to be read.

Roles are there for all that are stored.  Words are read for a few only, after a first projection has said for which
it would make a difference.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from playhead.model.message import Message, message_text
from playhead.model.ref import ContentRef


class Unread(Exception):
    """Nothing was changed yet: read what is `unread`, and do the same again."""


@dataclass(slots=True)
class KnownMessages:
    """What is known of messages; `unread`: those that somebody would like to have read.

    `missing`: messages and threads that somebody asked about and that are not stored.  `strict`: who has asked for
    what was not read does not go on without it.
    """

    roles: Mapping[ContentRef, str]
    messages: Mapping[ContentRef, Message]
    unread: set[ContentRef] = field(default_factory=set[ContentRef])
    missing: set[ContentRef] = field(default_factory=set[ContentRef])
    strict: bool = False

    def check(self) -> None:
        """To be called before what follows from messages changes anything.  Raises Unread."""
        if self.strict and self.unread - self.missing:
            raise Unread

    def role(self, ref: ContentRef, default: str = "") -> str:
        """`default` for a message that is not stored."""
        found = self.roles.get(ref)
        if found is None:
            self.missing.add(ref)
            return default
        return found

    def message(self, ref: ContentRef) -> Message | None:
        """None when it was not read yet."""
        found = self.messages.get(ref)
        if found is None:
            self.unread.add(ref)
        return found

    def tried(self) -> None:
        """What is unread was looked for: what is not there now is not stored."""
        self.missing |= {ref for ref in self.unread if ref not in self.messages}
        self.unread.clear()

    def text(self, ref: ContentRef) -> str:
        """What it says; empty when it was not read yet."""
        message = self.message(ref)
        return "" if message is None else message_text(message).strip()

    def calls(self, ref: ContentRef) -> tuple[str, ...]:
        """The calls that a tool's message answers."""
        message = self.message(ref)
        parts = message["parts"] if message else []
        return tuple(str(part.get("id")) for part in parts if part.get("type") == "tool_call_response")

    def size(self, ref: ContentRef) -> int:
        """How long it is, in characters; parts that are stored apart count."""
        message = self.message(ref)
        apart = sum(int(part.get("bytes") or 0) for part in message["parts"]) if message else 0
        return apart + len(self.text(ref))
