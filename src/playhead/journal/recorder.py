"""api, capture → refs → [journal].  The recorder: implements `calls.recorder.Recorder` with an intake and a journal."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import orjson

from playhead.calls.recorder import FrameList, KnownThreads, Redact
from playhead.errors import NotFaithful
from playhead.journal.frame import ANNOUNCEMENT, LOG, SPAN, content_frame, frame, thread_frame
from playhead.journal.journal import Journal
from playhead.journal.listeners import LISTENERS
from playhead.kernel.guard import guarded, log_internal_error
from playhead.kernel.opentelemetry_sdk import TracerProvider
from playhead.model import names
from playhead.model.canonical import content_of, value_of
from playhead.model.message import Message
from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.model.objects.limits import NO_LIMITS
from playhead.model.objects.plain_tree import KeepBytes
from playhead.model.objects.safe_json import safe_json
from playhead.model.ref import ContentRef
from playhead.refs.faithful import encode, encode_error, restore_data
from playhead.refs.intake import PayloadIntake
from playhead.refs.secrets import holds_secret, is_all_recorded, without_secrets
from playhead.refs.threads import continues_conversation, extend_thread, native_ref, sent_thread_refs, thread_ref

# Events from which a program continues, or for which it waits, after its end: written at once, even if calls are kept
# in memory.
_DURABLE_LOGS = frozenset({names.CHECKPOINT, names.APPROVAL_REQUESTED, names.INPUT_REQUESTED})

# Replaces a text that a hook removed altogether.
REDACTED = "(redacted)"


class JournalRecorder:
    """Implements `calls.recorder.Recorder`, which documents the methods. `frames` are always its own `CallFrames`."""

    def __init__(
        self,
        intake: PayloadIntake,
        journal: Journal,
        provider: TracerProvider,
        *,
        content: bool,
        reasoning: bool,
        always: bool,
    ):
        self.frames: type[FrameList] = CallFrames
        self.intake = intake
        self.redacts = intake.redacts
        self.journal = journal
        self.provider = provider
        self.content = content
        self.reasoning = reasoning
        self.always = always
        self._last_shape: tuple[Mapping[str, Any] | None, ContentRef] = None, ContentRef("")

    def payload(
        self, value: Any, frames: Any, redact: Redact | None = None, *, unbounded: bool = False
    ) -> ContentRef | None:
        if not self.content:
            return None
        try:
            return self.intake.payload(value, frames, redact, unbounded=unbounded)
        except BaseException as error:  # noqa: BLE001 - a `guarded` block would take 2 % of the call
            reraise_if_for_program(error)
            log_internal_error("record a payload", error)
            return None

    def repeated(self, value: Any, frames: Any, redact: Redact | None = None) -> ContentRef | None:
        if not self.content:
            return None
        try:
            return self.intake.repeated(value, frames, redact)
        except BaseException as error:  # noqa: BLE001 - with a `guarded` block, a model call takes longer
            reraise_if_for_program(error)
            log_internal_error("record a payload", error)
            return None

    def digest_of_part(self, value: object, part: Callable[[Any], Any], redact: Redact | None = None) -> str | None:
        if not self.content:
            return None
        with guarded("compare a payload"):
            whole = self.intake.as_recorded(value, redact)
            selected = part(whole)
            return None if selected is whole else content_of(selected).ref.digest.hex()
        return None

    def native_thread_ref(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        conversation: KnownThreads,
        frames: Any,
        redact: Redact | None = None,
    ) -> ContentRef | None:
        if not self.content:
            return None
        with guarded("record a model call's messages"):
            return thread_ref(self.intake, messages, to_message, conversation.threads, frames, redact)
        return None

    def sent_thread_refs(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        from_message: Callable[[Message], Mapping[str, Any]],
        conversation: KnownThreads,
        frames: Any,
        *,
        shape: Mapping[str, Any] | None = None,
        redact: Redact | None = None,
        uncut_prefix: int = 0,
    ) -> tuple[ContentRef | None, ContentRef | None]:
        if not self.content:
            return None, None
        try:
            threads, intake = conversation.threads, self.intake
            thread, exact = sent_thread_refs(
                intake, messages, to_message, from_message, threads, frames, redact, uncut_prefix
            )
            return thread, exact if shape is None else self._shape_ref(shape, exact, frames)
        except BaseException as error:  # noqa: BLE001 - with a `guarded` block, a model call takes longer
            reraise_if_for_program(error)
            log_internal_error("record a model call's messages", error)
            return None, None

    def continues_conversation(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        conversation: KnownThreads,
    ) -> bool:
        with guarded("compare a model call's messages"):  # they are the user's values
            return continues_conversation(messages, to_message, conversation.threads)
        return False

    def _shape_ref(self, shape: Mapping[str, Any], exact: ContentRef | None, frames: Any) -> ContentRef:
        """Records a request's shape (most often a constant) with the ref of its exact messages; returns the ref."""
        intake, (last, ref) = self.intake, self._last_shape
        if shape is last and exact is None and ref.digest in intake.known:
            return ref
        keep = intake.recorded if intake.redacts else intake.repeated  # usually the same in each call
        ref = keep({**shape, "messages": exact}, frames)
        if exact is None and not intake.full:  # else it may be a marker
            self._last_shape = shape, ref
        return ref

    def message_thread_ref(self, messages: Sequence[Message], frames: Any) -> ContentRef | None:
        if not self.content:
            return None
        with guarded("record a model call's answer"):
            return extend_thread(self.intake, messages, None, frames)
        return None

    def native_message_ref(
        self,
        message: Any,
        to_message: Callable[[Mapping[str, Any]], Message],
        frames: Any,
        redact: Redact | None = None,
    ) -> ContentRef | None:
        if not self.content:
            return None
        with guarded("record a message"):
            return native_ref(self.intake, message, to_message, frames, redact)
        return None

    def message(self, message: Message, redact: Redact | None = None) -> Message:
        if redact is None and not self.redacts:
            return message
        redacted = self.intake.redacted(message, redact)
        if isinstance(redacted, dict) and "parts" in redacted:
            return cast(Message, redacted)
        return {"role": message["role"], "parts": [{"type": "redacted", "content": redacted}]}

    def text(self, text: str, redact: Redact | None = None) -> str:
        if not self.content:
            return ""
        if redact is None and not self.redacts:
            return text
        redacted = self.intake.redacted(text, redact)
        return redacted if isinstance(redacted, str) else ""

    def prompt(self, text: str, redact: Redact | None = None) -> str:
        masked = text if self.intake.mask is None else self.intake.mask.text(text)
        if redact is None and not self.redacts:
            return masked
        redacted = self.intake.redacted(masked, redact)
        return redacted if isinstance(redacted, str) and redacted else REDACTED

    def displayable(self, value: object, redact: Redact | None = None) -> Any:
        if not self.content:
            return None
        with guarded("show a value"):
            # Unbounded: a person reads it, and the next attempt recognizes the question by it.
            return value_of(content_of(self.intake.redacted(self.intake.plain_copy(value, unbounded=True), redact)))
        return None

    def equals_content(
        self, value: object, ref: ContentRef | None, redact: Redact | None = None, *, unbounded: bool = False
    ) -> bool:
        return (redact is None and not self.redacts) or self.intake.equals_content(value, ref, unbounded=unbounded)

    def restore_data_ref(
        self,
        value: object,
        frames: object,
        *,
        self_contained: bool,
        redact: Redact | None = None,
        unbounded: bool = False,
    ) -> tuple[ContentRef | None, str | None]:
        limits = NO_LIMITS if unbounded else self.intake.limits
        keep = self._keeping(frames, redact)
        tree: Any = None
        why: str | None = "its result cannot be kept"
        with guarded("keep a result for resume"):
            try:
                tree, why = (encode if self_contained else restore_data)(value, limits, keep), None
            except NotFaithful as error:
                why = str(error)
        if tree is None:
            return None, why
        mask = self.intake.mask
        if mask and holds_secret(tree, mask):
            return None, "its result holds secrets, which are masked in the record"
        if (redact is not None or self.redacts) and not (
            is_all_recorded(tree, self.intake.plain_copy(value)) and self.intake.redaction_changes_nothing(tree, redact)
        ):
            return None, "its result has parts that a redaction hook does not see, or changes"
        return self._recorded(tree, frames), None

    def error(
        self, described: Mapping[str, Any], raised: BaseException | None, frames: Any, redact: Redact | None = None
    ) -> ContentRef | None:
        if not self.content:
            return None
        with guarded("record an error"):
            recorded: Any = described
            if self.redacts or redact is not None:
                recorded = self.intake.redacted(described, redact)
                if not isinstance(recorded, dict) or cast(Any, recorded).get("message") != described["message"]:
                    raised = None
            keep = self._keeping(frames, redact)
            if raised is not None and self._may_be_kept(raised, restore_tree := self._outline(raised, keep), redact):
                recorded = {**cast("dict[str, Any]", recorded), "restore": restore_tree}
            return self.intake.recorded(recorded, frames)
        return None

    def _keeping(self, frames: Any, redact: Redact | None) -> KeepBytes | None:
        """Stores the elements of large arrays separately.  None if a redaction hook must see them in their place."""
        return None if redact is not None or self.redacts else lambda data: self.intake.part(data, frames)

    def _outline(self, raised: BaseException, keep: KeepBytes | None) -> Any:
        tree = encode_error(raised, self.intake.limits, keep)
        return without_secrets(tree, self.intake.mask, raised) if self.intake.mask else tree

    def _may_be_kept(self, raised: BaseException, tree: object, redact: Redact | None) -> bool:
        """Whether redaction leaves the error as it is. Hooks also get its parts: some look for keys, not for texts."""
        if redact is None and not self.redacts:
            return True
        return all(self.intake.redaction_changes_nothing(part, redact) for part in (*raised.args, vars(raised), tree))

    def _recorded(self, value: Any, frames: Any) -> ContentRef | None:
        return self.intake.recorded(value, frames) if self.content else None

    def journal_start(self, fields: Sequence[Any], frames: object) -> None:
        self._append(ANNOUNCEMENT, fields, frames)

    def journal_end(self, fields: Sequence[Any], frames: object) -> None:
        self._append(SPAN, fields, frames)

    def journal_contents(self, frames: Any) -> None:
        if frames:
            if self.journal.append(b"".join(frames)):
                self.intake.known.add_all(frames.new)
            frames.clear()
            frames.new = {}

    def log(self, name: str, fields: Sequence[Any], frames: object) -> None:
        self._append(LOG, (name, *fields), frames)
        if name in _DURABLE_LOGS:
            self.journal.flush()

    def _append(self, kind: bytes, fields: Sequence[Any], frames: Any) -> None:
        payload = _fields_json(fields)
        record_frame = frame(kind, payload)
        if not frames:
            appended = self.journal.append(record_frame)
        else:
            frames.append(record_frame)
            appended = self.journal.append(b"".join(frames))
            if appended:
                self.intake.known.add_all(frames.new)
            frames.clear()
            frames.new = {}
        if LISTENERS.active and appended:
            LISTENERS.put(kind, payload)


def _fields_json(fields: Sequence[Any]) -> bytes:
    try:
        return orjson.dumps(fields)
    except BaseException as error:  # noqa: BLE001 - an attribute of the user's that is no OpenTelemetry value
        # Not `guarded`, which would take 2 % of the call.
        reraise_if_for_program(error)
        # Half of a surrogate pair has no UTF-8 form, and readers of spans refuse its escape: it becomes `?`.
        plain = json.loads(safe_json(list(fields)))
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class CallFrames(FrameList):
    """The frames of one call's new contents and threads. Implements `refs.intake.NewContentSink`."""

    __slots__ = ()

    def content(self, digest: bytes, ref: ContentRef, data: bytes, media_type: str) -> None:
        self.append(content_frame(digest, data, media_type))
        self.new[digest] = ref

    def thread(self, digest: bytes, ref: ContentRef, parent: ContentRef | None, messages: Sequence[ContentRef]) -> None:
        self.append(thread_frame(parent, messages))
        self.new[digest] = ref
