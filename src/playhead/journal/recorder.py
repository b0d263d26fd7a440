"""api, capture → refs → [journal].  The recorder: keeps the promises of `api.port` with an intake and a journal."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import orjson
from opentelemetry.sdk.trace import TracerProvider

from playhead.api.guard import swallowed
from playhead.api.port import Conversation, Frames, Redact
from playhead.errors import NotFaithful
from playhead.journal.frame import ANNOUNCEMENT, LOG, SPAN, content_frame, frame, thread_frame
from playhead.journal.journal import Journal
from playhead.model.careful import careful_json
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.refs.faithful import beside, encode, encode_error
from playhead.refs.intake import Intake
from playhead.refs.threads import extend_thread, thread_ref


class JournalRecorder:
    """See `api.port.Recorder` for the promises."""

    def __init__(
        self,
        intake: Intake,
        journal: Journal,
        provider: TracerProvider,
        *,
        content: bool,
        reasoning: bool,
        always: bool,
    ):
        self.intake = intake
        self.journal = journal
        self.provider = provider
        self.content = content
        self.reasoning = reasoning
        self.always = always

    @property
    def redacts(self) -> bool:
        return self.intake.redacts

    def payload(self, value: Any, frames: Frames, redact: Redact | None = None) -> ContentRef | None:
        if not self.content:
            return None
        try:
            return self.intake.payload(value, _Kept(frames), redact)
        except Exception as error:  # noqa: BLE001 - the guard
            swallowed("record a payload", error)
            return None

    def repeated(self, value: Any, frames: Frames, redact: Redact | None = None) -> ContentRef | None:
        if not self.content:
            return None
        try:
            return self.intake.repeated(value, _Kept(frames), redact)
        except Exception as error:  # noqa: BLE001 - the guard
            swallowed("record a payload", error)
            return None

    def thread(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        conversation: Conversation,
        frames: Frames,
        redact: Redact | None = None,
    ) -> ContentRef | None:
        if not self.content:
            return None
        try:
            return thread_ref(self.intake, messages, to_message, conversation.threads, _Kept(frames), redact)
        except Exception as error:  # noqa: BLE001 - the guard
            swallowed("record a model call's messages", error)
            return None

    def message_thread(self, messages: Sequence[Message], frames: Frames) -> ContentRef | None:
        if not self.content:
            return None
        try:
            return extend_thread(self.intake, messages, None, _Kept(frames))
        except Exception as error:  # noqa: BLE001 - the guard
            swallowed("record a model call's answer", error)
            return None

    def message(self, message: Message, redact: Redact | None = None) -> Message:
        if redact is None and not self.intake.redacts:
            return message
        redacted = self.intake.redacted(message, redact)
        if isinstance(redacted, dict) and "parts" in redacted:
            return cast(Message, redacted)
        return {"role": message["role"], "parts": [{"type": "redacted", "content": redacted}]}

    def text(self, text: str, redact: Redact | None = None) -> str:
        if not self.content:
            return ""
        if redact is None and not self.intake.redacts:
            return text
        shown = self.intake.redacted(text, redact)
        return shown if isinstance(shown, str) else ""

    def faithful(
        self, value: Any, frames: Frames, *, whole: bool, redact: Redact | None = None
    ) -> tuple[ContentRef | None, str | None]:
        if self.intake.redacts or redact is not None:
            return None, "its result is redacted in the record"
        try:
            tree = encode(value) if whole else beside(value)
        except NotFaithful as error:
            return None, str(error)
        except Exception as error:  # noqa: BLE001 - the guard
            swallowed("keep a result for resume", error)
            return None, "its result cannot be kept"
        return (None, None) if tree is None else (self.payload(tree, frames), None)

    def faithful_error(self, raised: BaseException, redact: Redact | None = None) -> Any:
        return None if self.intake.redacts or redact is not None else encode_error(raised)

    def announce(self, fields: Sequence[Any], frames: Frames) -> None:
        self._append(ANNOUNCEMENT, fields, frames)

    def end(self, fields: Sequence[Any], frames: Frames) -> None:
        self._append(SPAN, fields, frames)

    def log(self, name: str, fields: Sequence[Any], frames: Frames) -> None:
        self._append(LOG, (name, *fields), frames)

    def _append(self, kind: bytes, fields: Sequence[Any], frames: Frames) -> None:
        own = frame(kind, _fields_json(fields))
        if not frames:
            self.journal.append(own)
            return
        frames.append(own)
        if self.journal.append(b"".join(frames)):
            self.intake.journaled(frames.new)
        frames.clear()


def _fields_json(fields: Sequence[Any]) -> bytes:
    try:
        return orjson.dumps(fields)
    except Exception:  # noqa: BLE001 - an attribute of the user's that is no OpenTelemetry value
        return careful_json(list(fields))


class _Kept:
    """Puts one call's new contents and threads into its frames: see `refs.intake.Keep`."""

    __slots__ = ("frames",)

    def __init__(self, frames: Frames):
        self.frames = frames

    def find(self, digest: bytes) -> ContentRef | None:
        frames = self.frames
        return frames.new.get(digest) if frames else None

    def content(self, digest: bytes, ref: ContentRef, data: bytes, media_type: str) -> None:
        frames = self.frames
        if not frames:
            frames.new = {}
        frames.append(content_frame(digest, data, media_type))
        frames.new[digest] = ref

    def thread(self, digest: bytes, ref: ContentRef, parent: ContentRef | None, messages: Sequence[ContentRef]) -> None:
        frames = self.frames
        if not frames:
            frames.new = {}
        frames.append(thread_frame(parent.digest if parent else None, [message.digest for message in messages]))
        frames.new[digest] = ref
