"""Roles and (for a few) texts of messages, for the projector. Pure: it collects the messages that have to be read.

Roles are known for all stored messages.  Texts are read for a few only, after a first projection has found for which
messages they can change the result.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from playhead.model.canonical import canonical_json
from playhead.model.json_value import object_at, text_at
from playhead.model.message import Message, Part, message_text, without_reasoning
from playhead.model.ref import ContentRef


class MessagesNeeded(Exception):
    """A message has to be read first; nothing was changed. Read the messages in `unread`, then repeat the call."""


@dataclass(slots=True)
class KnownMessages:
    """Roles and texts of messages. `unread`: messages whose text was requested and not read yet.

    `missing`: messages and threads that were requested and are not stored.  `strict`: `check` raises MessagesNeeded
    when there are unread messages.
    """

    roles: Mapping[ContentRef, str]
    messages: Mapping[ContentRef, Message]
    unread: set[ContentRef] = field(default_factory=set[ContentRef])
    missing: set[ContentRef] = field(default_factory=set[ContentRef])
    strict: bool = False

    def check(self) -> None:
        """Raises MessagesNeeded if `strict` and a stored message was not read. Call this before a result that depends
        on texts changes any state."""
        if self.strict and self.unread - self.missing:
            raise MessagesNeeded

    def role(self, ref: ContentRef, default: str = "") -> str:
        """The role of a message; `default` for one that is not stored."""
        stored_role = self.roles.get(ref)
        if stored_role is None:
            self.missing.add(ref)
            return default
        return stored_role

    def message(self, ref: ContentRef) -> Message | None:
        """The message; None when it was not read yet."""
        stored = self.messages.get(ref)
        if stored is None:
            self.unread.add(ref)
        return stored

    def mark_missing(self) -> None:
        """Marks unread messages that are still absent as missing. Call this after they were looked up."""
        self.missing |= {ref for ref in self.unread if ref not in self.messages}
        self.unread.clear()

    def text(self, ref: ContentRef) -> str:
        """The text of a message; empty when it was not read yet."""
        message = self.message(ref)
        return "" if message is None else message_text(message).strip()

    def written(self, ref: ContentRef) -> str:
        """What a model wrote in a message: its text without reasoning, and the texts in its tool calls' arguments.
        Empty when the message was not read yet."""
        message = self.message(ref)
        if message is None:
            return ""
        texts = [message_text(said) for said in without_reasoning([message])]
        arguments = (object_at(part, "arguments") for part in message["parts"] if part.get("type") == "tool_call")
        texts += (value for given in arguments for value in given.values() if isinstance(value, str))
        return "\n".join(texts).strip()

    def compaction(self, ref: ContentRef) -> str | None:
        """The provider's own summary of a context in a message: empty if only the provider can read it, None if there
        is none."""
        message = self.message(ref)
        parts = [part for part in message["parts"] if part.get("type") == "compaction"] if message else []
        return "".join(text_at(part, "content") for part in parts) if parts else None

    def calls(self, ref: ContentRef) -> tuple[str, ...]:
        """Ids of the tool calls that a tool's message answers; empty when it was not read yet."""
        return self._ids(ref, "tool_call_response")

    def requests(self, ref: ContentRef) -> tuple[str, ...]:
        """Ids of the tool calls that a message requests; empty when it was not read yet."""
        return self._ids(ref, "tool_call")

    def _ids(self, ref: ContentRef, kind: str) -> tuple[str, ...]:
        message = self.message(ref)
        parts = message["parts"] if message else []
        return tuple(str(part.get("id")) for part in parts if part.get("type") == kind)

    def meaning(self, ref: ContentRef) -> Hashable:
        """What a message says: equal for messages of equal role, texts, tool calls and results, whatever their names
        and extra fields are. None when the message was not read yet."""
        message = self.message(ref)
        if message is None:
            return None
        texts = (str(part.get("content")) for part in message["parts"] if part.get("type") == "text")
        others = (part for part in message["parts"] if part.get("type") not in ("text", "reasoning"))
        return message["role"], "".join(texts).strip(), *(canonical_json(_bare(part)) for part in others)

    def pieces(self, ref: ContentRef) -> set[Hashable]:
        """What a message says, in pieces: its text, and each other part of it but reasoning. Where a framework sends
        one message as several, or in another API's form, the pieces are the same. Empty when it was not read yet."""
        message = self.message(ref)
        if message is None:
            return set()
        role = message["role"]
        parts = [part for part in message["parts"] if part.get("type") != "reasoning"]
        text = "".join(str(part.get("content")) for part in parts if part.get("type") == "text").strip()
        others: set[Hashable] = {(role, canonical_json(_bare(part))) for part in parts if part.get("type") != "text"}
        return others | {(role, text)} if text else others

    def size(self, ref: ContentRef) -> int:
        """The characters of a message's text, plus the bytes of parts that are stored separately."""
        message = self.message(ref)
        apart = sum(int(part.get("bytes") or 0) for part in message["parts"]) if message else 0
        return apart + len(self.text(ref))


def _bare(part: Part) -> Part:
    return {name: value for name, value in part.items() if name != "extra"}
