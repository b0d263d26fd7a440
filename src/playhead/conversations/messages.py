"""Messages as they are stored: redacted, in canonical form, linked to a thread; and back to the form of an API.

The thread of a conversation has the same refs as the recorded calls with the same messages, so that each message is
stored once. Pure, but for the program's redaction hook.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from playhead.errors import CannotRestore, MaskedContent
from playhead.model.canonical import Content, canonical_json
from playhead.model.json_value import JsonMapping, JsonValue, text_at
from playhead.model.message import Message, message_contents, read_message, resolve_parts, text_message
from playhead.model.objects.masking import Mask
from playhead.model.ref import ContentRef
from playhead.models.apis import APIS, Api, as_json
from playhead.recording import RecordingProcess, current_settings
from playhead.refs.intake import PayloadIntake

REDACTED: Final = "playhead.redacted"
"""In the `extra` of a stored message: a redaction hook has changed it, so no model may be given it as what was said."""

_TOOL: Final = "tool"


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is kept: its own content, and those of its large parts."""

    contents: tuple[Content, ...]
    is_redacted: bool = False
    """Whether the program's redaction hook has changed it."""

    @property
    def ref(self) -> ContentRef:
        """The ref of the message in a thread."""
        return self.contents[0].ref.plain


def native_messages(api: Api, message: object) -> list[JsonMapping]:
    """Returns a message of the API's client (a dictionary, or an object) in pieces that are messages of their own.
    Raises TypeError for anything else, and ValueError for a message without content."""
    pieces = [*api.cut(as_json(message))]
    if not pieces:
        raise ValueError("this message has no content")
    return pieces


def native_of(api: Api, role: str, content: JsonValue, call: str | None, name: str | None) -> list[JsonMapping]:
    """Returns the message of a role in the form of the API. `call`, `name`: of the tool call that it answers."""
    if role == _TOOL:
        return [api.from_message(api.result(call, name, content if isinstance(content, str) else str(content)))]
    if isinstance(content, str):
        return [api.from_message(text_message(role, content))]
    return native_messages(api, api.native(role, content))


def stored_message(api: Api, native: JsonMapping, intake: PayloadIntake) -> StoredMessage:
    """Returns what is kept of a message, after the program's redaction hook."""
    if not intake.redacts:
        return StoredMessage(tuple(message_contents(api.to_message(native))))
    redacted = intake.redacted(native)
    if canonical_json(redacted) == canonical_json(native):
        return StoredMessage(tuple(message_contents(api.to_message(native))))
    marked = _marked(api, redacted, text_at(native, "role") or "user")
    return StoredMessage(tuple(message_contents(marked)), is_redacted=True)


def stored_canonical(message: Message, intake: PayloadIntake) -> StoredMessage:
    """The same for a message in canonical form."""
    return stored_message(APIS["canonical"], cast(JsonMapping, message), intake)


def _marked(api: Api, redacted: object, role: str) -> Message:
    """The canonical form of what the hook left, with a mark that it is not what was said."""
    try:
        message = api.to_message(cast(JsonMapping, redacted))
    except (ValueError, TypeError, KeyError, AttributeError):  # the hook may return anything
        message = cast(Message, {"role": role, "parts": [{"type": "unparsed", "content": redacted}]})
    extra = cast("Mapping[str, object]", message.get("extra") or {})
    return cast(Message, {**message, "extra": {**extra, REDACTED: True}})


def refuse_masked(content: Content, what: str) -> None:
    """Raises MaskedContent if a collector has masked a part of the content. `what`: what it is, as a subject."""
    if content.is_masked:
        raise MaskedContent(
            f"{what} was masked by the redaction rules of its project at the collector: a model must not be given it "
            "as what was said. Begin another conversation, or branch from a revision before it"
        )


def restored_message(ref: ContentRef, contents: Mapping[ContentRef, Content]) -> Message:
    """Returns a stored message with its large parts. Raises CannotRestore if it is not there, or was redacted;
    MaskedContent if the collector has masked a part of it."""
    content = contents.get(ref)
    if content is None:
        raise CannotRestore(f"the message {ref} of this conversation is not stored any more")

    def part(wanted: ContentRef) -> bytes:
        found = contents.get(wanted.plain)
        if found is None:
            raise CannotRestore(f"a part of the message {ref} of this conversation is not stored any more")
        refuse_masked(found, f"a part of the message {ref} of this conversation")
        return found.data

    refuse_masked(content, f"the message {ref} of this conversation")
    message = resolve_parts(read_message(content.data), part)
    if REDACTED in (message.get("extra") or {}):
        raise CannotRestore(
            f"the message {ref} was redacted on its way to the store: a model must not be given it as what was said. "
            "Keep the text elsewhere, or let the redaction hook leave the messages of this conversation as they are"
        )
    return message


def message_intake() -> PayloadIntake:
    """Returns what makes contents of messages, with the redaction hook of this process."""
    settings = current_settings()
    return PayloadIntake(
        max_content_bytes=settings.max_content_bytes, redact=RecordingProcess.redact, mask=Mask(settings.mask_keys)
    )
