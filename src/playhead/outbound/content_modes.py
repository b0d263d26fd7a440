"""contents → [content_modes] → vocabularies. How much of a span's content is sent: all, its beginning, or a link to
it.
"""

from collections.abc import Mapping
from typing import Final, cast

from playhead.dialect.tool_definitions import flattened
from playhead.model.json_value import Json, JsonOrBytes, JsonValue, list_of, object_of, value_at
from playhead.model.message import Message, Part
from playhead.model.ref import ContentRef
from playhead.outbound.contents import ContentNotAtHand, OutboundContents
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundSpan

_CUT: Final = "…"
# Keys of a part that a preview may cut; all other keys (type, id, name) stay unchanged.
_READABLE: Final = frozenset({"content", "arguments", "response", "result"})
# Keys of a tool's definition that a preview keeps.
_OF_DEFINITIONS: Final = ("type", "name")
# A number, a boolean or a key counts as this many characters; an item of a list as one more than what it is.
_OTHER_CHARACTERS: Final = 8
# Namespaces with ids, names and kinds of calls: never redacted.
_OF_CALLS: Final = frozenset({"gen_ai", "playhead", "session", "user", "openinference"})
_MOST_DEPTH: Final = 32


class ShownContent:
    """Returns a span's content to a vocabulary: redacted, and in the destination's content mode. Nothing here
    raises."""

    def __init__(self, span: OutboundSpan, contents: OutboundContents, options: OutboundOptions) -> None:
        self._url = span.url
        self._contents = contents
        self._options = options

    @property
    def is_link(self) -> bool:
        """Whether a link is sent in place of content."""
        return self._options.content == "ref"

    @property
    def is_full(self) -> bool:
        return self._options.content == "full"

    def value(self, ref: ContentRef | None) -> JsonOrBytes:
        """Returns the value of the ref in the form that may be sent; None without a ref."""
        if ref is None:
            return None
        if self.is_link:
            return self.link(ref)
        value = self._whole(ref)
        return value if self.is_full else preview(value, self._options.preview_characters)

    def tool_definitions(self, ref: ContentRef) -> tuple[list[JsonValue], list[str]]:
        """Returns the definitions of tools in the flat form, each with its type and its name, and the forms that they
        had (see `dialect.tool_definitions`). Empty lists: the value is no list of definitions."""
        flat, forms = flattened(list_of(self._whole(ref)))
        return (flat if self.is_full else [self._shown_definition(definition) for definition in flat]), forms

    def _shown_definition(self, definition: JsonValue) -> JsonValue:
        if not isinstance(definition, dict):
            return preview(definition, self._options.preview_characters)
        rest: Json = {key: value for key, value in definition.items() if key not in _OF_DEFINITIONS}
        shown = object_of(preview(rest, self._options.preview_characters))
        return {key: definition[key] for key in _OF_DEFINITIONS if key in definition} | shown

    def _whole(self, ref: ContentRef) -> JsonOrBytes:
        try:
            return self._redacted(self._contents.value(ref))
        except ContentNotAtHand as error:
            return f"[{error}]"

    def object(self, ref: ContentRef | None) -> Json:
        """Returns the object of the ref; {} if the value is not an object, or only a link is sent."""
        value = None if self.is_link else self.value(ref)
        return object_of(value)

    def messages(self, thread: ContentRef | None) -> list[Message] | None:
        """Returns the messages of the thread in the form that may be sent. None: there is no ref, or only a link is
        sent."""
        if thread is None or self.is_link:
            return None
        try:
            messages = self._contents.messages(thread)
        except ContentNotAtHand as error:
            return [_said("system", f"[{error}]")]
        return [self._shown(message) for message in messages]

    def message(self, ref: ContentRef) -> Message:
        """Returns the message of the ref in the form that may be sent."""
        return _said("system", self.link(ref)) if self.is_link else self._shown(self._contents.message(ref))

    def link(self, ref: ContentRef) -> str:
        """Returns the text that is sent in place of content: the URL of the run's page; without a URL, the ref."""
        return f"In Playhead: {self._url}" if self._url else f"In Playhead: {ref.plain}"

    def text(self, text: str) -> str:
        """Redacts a text that the span itself holds, such as an error's message, and shortens it for a preview."""
        redacted = self._redacted(text) if text else text
        redacted_text = redacted if isinstance(redacted, str) else ""
        return redacted_text if self.is_full else redacted_text[: self._options.preview_characters]

    def attribute(self, key: str, value: JsonValue) -> JsonOrBytes:
        """Redacts the value of an attribute that is not one of our contents; ids, names and kinds of calls stay
        unchanged."""
        if not isinstance(value, str | list | tuple | dict) or key.partition(".")[0] in _OF_CALLS:
            return value
        return self._redacted(value)

    def _redacted(self, value: JsonOrBytes) -> JsonOrBytes:
        redact = self._options.redact
        if redact is None:
            return value
        try:
            return redact(value)
        except Exception as error:  # noqa: BLE001 - the operator's code: what it cannot redact is not sent
            return f"[left out: the redaction failed with {type(error).__name__}]"

    def _shown(self, message: Message) -> Message:
        redacted = self._redacted_message(message)
        return redacted if self.is_full else _preview_of_message(redacted, self._options.preview_characters)

    def _redacted_message(self, message: Message) -> Message:
        if self._options.redact is None:
            return message
        redacted = self._redacted(cast("Json", message))
        if isinstance(value_at(redacted, "parts"), list):
            return cast(Message, redacted)
        return _said(message["role"], redacted if isinstance(redacted, str) else "[left out]")


def preview(value: JsonOrBytes, characters: int) -> JsonValue:
    """Returns the beginning of a value: its structure, with at most this many characters of its texts."""
    return _Preview(characters).of(value)


class _Preview:
    """Shortens values that share one budget of characters."""

    def __init__(self, characters: int) -> None:
        self._left = characters

    def of(self, value: JsonOrBytes, depth: int = 0) -> JsonValue:
        if isinstance(value, bytes):
            return f"[{len(value)} bytes]"
        if isinstance(value, str):
            return self._text(value)
        if depth >= _MOST_DEPTH:
            return _CUT
        if isinstance(value, dict):
            return self._object(value, depth)
        if isinstance(value, list | tuple):
            return self._list(value, depth)
        self._left -= _OTHER_CHARACTERS
        return value

    def _text(self, text: str) -> str:
        beginning, self._left = text[: max(self._left, 0)], self._left - len(text)
        return text if len(beginning) == len(text) else beginning + _CUT

    def _object(self, value: Json, depth: int) -> Json:
        result: Json = {}
        for key, inner in value.items():
            if self._left <= 0:
                result[_CUT] = f"{len(value) - len(result)} more"
                break
            self._left -= _OTHER_CHARACTERS
            result[key] = self.of(inner, depth + 1)
        return result

    def _list(self, value: "list[JsonValue]", depth: int) -> list[JsonValue]:
        result: list[JsonValue] = []
        for inner in value:
            if self._left <= 0:
                result.append(f"{_CUT} {len(value) - len(result)} more")
                break
            self._left -= 1
            result.append(self.of(inner, depth + 1))
        return result


def _preview_of_message(message: Message, characters: int) -> Message:
    budget = _Preview(characters)
    return cast(Message, {**_without_extra(message), "parts": [_part(part, budget) for part in message["parts"]]})


def _part(part: Part, budget: _Preview) -> Part:
    if part.get("type") == "blob":
        size = len(str(part.get("content") or "")) * 3 // 4
        return {"type": "text", "content": f"[{part.get('mime_type') or part.get('modality') or 'data'}, {size} bytes]"}
    return {key: budget.of(value) if key in _READABLE else value for key, value in part.items() if key != "extra"}


def _without_extra(item: Mapping[str, object]) -> dict[str, object]:
    """Removes `extra`: other fields of a provider may be long, and a preview does not need them."""
    return {key: value for key, value in item.items() if key != "extra"}


def _said(role: str, text: str) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": text}]}
