"""Values of LangGraph as they are stored, and back, by LangGraph's own serialiser."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from playhead.compat.langgraph import is_snapshot, snapshot_of
from playhead.conversations.langgraph.stored_values import (
    DATA,
    FORM,
    MEMBERS,
    PLAIN,
    REF,
    SNAPSHOT,
    MessageRefs,
    StoredValue,
    is_ordered,
    is_plain,
    value_of_record,
    value_record,
)
from playhead.errors import CannotRestore
from playhead.model.canonical import BYTES, Content, canonical_json
from playhead.model.json_value import Json, JsonValue, is_list, is_object, list_at, object_at, object_of, text_at
from playhead.model.ref import ContentRef

# A content of its own costs about as much besides its bytes.
_INLINE_BYTES: Final = 256


class ValueWriter:
    """Turns values into what is stored of them. Raises what the serialiser raises for a value that it cannot write."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde
        # Another serialiser may encrypt: then nothing is written without it.
        self._is_open = isinstance(serde, JsonPlusSerializer)
        self.contents: dict[ContentRef, Content] = {}
        """The contents that the values need."""

    def value(self, value: object) -> StoredValue:
        """Returns what a record has of a value."""
        if is_snapshot(value):
            inside = self.value(cast(Any, value).value)
            return StoredValue({**inside.json, SNAPSHOT: True}, inside.items)
        if self._is_short_json(value):
            return StoredValue({PLAIN: cast(JsonValue, value)})
        if _is_messages(value) and (messages := self._messages(value)) is not None:
            return messages
        if _has_messages(value):
            return StoredValue({MEMBERS: [[name, self._member(member)] for name, member in value.items()]})
        return self._serialised(value)

    def field(self, value: object) -> JsonValue:
        """Returns the JSON of a member of a checkpoint or of its metadata: the value itself, if it is JSON."""
        listed = _lists(value)
        if is_plain(listed) and not (is_object(listed) and FORM in listed):
            return cast(JsonValue, listed)
        form, data = self._serde.dumps_typed(value)
        return {FORM: form, DATA: b64encode(data).decode()}

    def _is_short_json(self, value: object) -> bool:
        is_json = self._is_open and is_plain(value) and is_ordered(value)
        return is_json and len(canonical_json(value)) <= _INLINE_BYTES

    def _member(self, value: object) -> Json:
        return value_record(self.value(value), None, None)

    def _messages(self, messages: Sequence[object]) -> StoredValue | None:
        """Returns a list of messages, each as content of its own; None if they are serialised in several forms."""
        written = [self._serde.dumps_typed(message) for message in messages]
        form = written[0][0]
        if any(other != form for other, _ in written):
            return None
        return StoredValue({FORM: form}, MessageRefs(None, 0, tuple(self._content(data) for _, data in written)))

    def _serialised(self, value: object) -> StoredValue:
        form, data = self._serde.dumps_typed(value)
        if len(data) <= _INLINE_BYTES:
            return StoredValue({FORM: form, DATA: b64encode(data).decode()})
        return StoredValue({FORM: form, REF: self._content(data)})

    def _content(self, data: bytes) -> ContentRef:
        content = Content(bytes(data), BYTES)
        ref = content.ref.plain
        self.contents[ref] = content
        return ref


class ValueReader:
    """Turns what is stored back into values. `contents`: at least those that the values need."""

    def __init__(self, serde: SerializerProtocol, contents: Mapping[ContentRef, bytes]) -> None:
        self._serde = serde
        self._contents = contents

    def value(self, stored: StoredValue) -> Any:
        """Returns a value, made anew. Raises CannotRestore if its content is not stored any more."""
        value = self._value(stored)
        return snapshot_of(value) if stored.is_snapshot else value

    def field(self, stored: JsonValue) -> Any:
        """Returns a member of a checkpoint or of its metadata."""
        if is_object(stored) and FORM in stored:
            return self._read(text_at(stored, FORM), b64decode(text_at(stored, DATA)))
        return _copied(stored)

    def _value(self, stored: StoredValue) -> Any:
        json = stored.json
        if PLAIN in json:
            return _copied(json[PLAIN])
        if MEMBERS in json:
            members = [(text_at(each, 0), object_at(each, 1)) for each in list_at(json, MEMBERS)]
            return {name: self.value(value_of_record(member, None)) for name, member in members}
        form = text_at(json, FORM)
        if stored.items is not None:
            return [self._read(form, self._bytes(ref)) for ref in stored.items.refs()]
        data = self._bytes(ContentRef(text_at(json, REF))) if REF in json else b64decode(text_at(json, DATA))
        return self._read(form, data)

    def _read(self, form: str, data: bytes) -> Any:
        return self._serde.loads_typed((form, data))

    def _bytes(self, ref: ContentRef) -> bytes:
        data = self._contents.get(ref)
        if data is None:
            raise CannotRestore(
                f"a value of this thread cannot be read ({ref}): it is at a collector that does not answer, or was "
                "deleted"
            )
        return data


def _is_messages(value: object) -> TypeGuard[list[object]]:
    """Whether this is a list of messages: of LangChain, or dictionaries with a role."""
    if type(value) is not list or not value:
        return False
    messages = cast("list[object]", value)
    return all(isinstance(each, BaseMessage) or (type(each) is dict and "role" in each) for each in messages)


def _has_messages(value: object) -> TypeGuard[dict[str, object]]:
    """Whether this is a dictionary with a list of messages in it, as a graph's input is."""
    if type(value) is not dict:
        return False
    members = cast("dict[object, object]", value)
    return all(type(name) is str and name.isprintable() for name in members) and any(
        map(_is_messages, members.values())
    )


def _lists(value: object) -> object:
    """Returns the value with lists for tuples: LangGraph's savers may return either in metadata."""
    if type(value) in (list, tuple):
        return [_lists(each) for each in cast("Sequence[object]", value)]
    if type(value) is dict:
        return {key: _lists(each) for key, each in cast("dict[object, object]", value).items()}
    return value


def _copied(value: JsonValue) -> Any:
    """Returns a copy: what is read may be changed."""
    if is_object(value):
        copy: Json = {key: _copied(each) for key, each in object_of(value).items()}
        return copy
    return [_copied(each) for each in value] if is_list(value) else value
