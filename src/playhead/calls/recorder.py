"""The interface to the recorder, which is a later stage. `calls.runtime` has the recorder in use."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from playhead.kernel.opentelemetry_sdk import TracerProvider
from playhead.model.message import Message
from playhead.model.objects.limits import Cut
from playhead.model.ref import ContentRef

Redact = Callable[[Any], Any]


class FrameList(list[bytes]):
    """Journal frames that a call has collected. Opaque here; made and consumed by the recorder.

    `new`: refs of the contents and threads in these frames, by digest; the creator must set it to an empty dictionary.
    `cut`: why the last recorded payload was cut; None: it was not. `dropped`: digest of a content for which the journal
    had no room.
    """

    __slots__ = ("cut", "dropped", "new")
    new: dict[bytes, ContentRef]
    cut: Cut | None
    dropped: bytes


class KnownThreads:
    """Threads of one run that are already recorded, so that common prefixes are hashed only once. Freed with the
    run."""

    __slots__ = ("threads",)

    def __init__(self) -> None:
        self.threads: list[Any] = []


class RunOwner(Protocol):
    """Tells whether this process still owns a run that it has begun or resumed. Safe for threads."""

    def loss(self, *, exact: bool) -> str | None:
        """Returns a sentence that says who has taken the run over; None while this process owns it. Never raises.

        `exact`: checks now; for calls with effects. Otherwise the result may be a moment old, and costs nearly nothing.
        """
        ...


class Recorder(Protocol):
    """Turns payloads into refs, and makes calls durable. No method raises; none blocks longer than a journal append.

    `redact` is the call's own hook; the hook of `configure` runs after it.
    """

    frames: type[FrameList]
    """The class of the frames that a call creates for this recorder to fill."""
    content: bool
    """Whether payloads are recorded at all."""
    reasoning: bool
    """Whether the models' reasoning is recorded."""
    always: bool
    """Whether runs that the sampler drops are recorded, too."""

    redacts: bool
    """Whether a redaction hook for all payloads is set: recorded contents may then differ from the program's values."""
    provider: TracerProvider
    """Sampler, resource and limits from OpenTelemetry's environment variables, for programs without a provider."""

    def payload(
        self, value: object, frames: FrameList, redact: Redact | None = None, *, unbounded: bool = False
    ) -> ContentRef | None:
        """Records a value, and returns its ref; None: not recorded. Adds content that the journal lacks to `frames`.

        A large value is cut, and `frames.cut` is set. With `unbounded` it is recorded whole."""
        ...

    def repeated(self, value: object, frames: FrameList, redact: Redact | None = None) -> ContentRef | None:
        """The same as `payload`, faster for a value that probably equals that of an earlier call."""
        ...

    def digest_of_part(self, value: object, part: Callable[[Any], Any], redact: Redact | None = None) -> str | None:
        """Returns the digest of `part(value)`, taken of the value as `payload` records it. None: `part` leaves nothing
        out (it returns its argument itself), or content is not recorded."""
        ...

    def native_thread_ref(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        conversation: KnownThreads,
        frames: FrameList,
        redact: Redact | None = None,
    ) -> ContentRef | None:
        """Records a model call's input, and returns its ref. Hashes only messages that earlier calls of the
        conversation did not have.
        """
        ...

    def sent_thread_refs(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        from_message: Callable[[Message], Mapping[str, Any]],
        conversation: KnownThreads,
        frames: FrameList,
        *,
        shape: Mapping[str, Any] | None = None,
        redact: Redact | None = None,
        uncut_prefix: int = 0,
    ) -> tuple[ContentRef | None, ContentRef | None]:
        """The same as `native_thread_ref`, and returns also the ref of the difference between the request and its
        canonical messages (None: no difference).

        That content is JSON: `{"parent", "place", "patch"}` for a message that `from_message` does not restore
        exactly; with a `shape`, that object, with the ref of the former under `messages`. `uncut_prefix`: number of
        first messages known to need no cutting; this is remembered with them.
        """
        ...

    def continues_conversation(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        conversation: KnownThreads,
    ) -> bool:
        """Whether these messages begin with those of an earlier call of the conversation, followed by a model's
        answer."""
        ...

    def message_thread_ref(self, messages: Sequence[Message], frames: FrameList) -> ContentRef | None:
        """Records a short thread of canonical messages, e.g. a call's output, and returns its ref."""
        ...

    def native_message_ref(
        self,
        message: object,
        to_message: Callable[[Mapping[str, Any]], Message],
        frames: FrameList,
        redact: Redact | None = None,
    ) -> ContentRef | None:
        """Records one message in the provider's form, and returns its ref, which is the same as in a thread."""
        ...

    def message(self, message: Message, redact: Redact | None = None) -> Message:
        """Returns the canonical message after the redaction hooks."""
        ...

    def text(self, text: str, redact: Redact | None = None) -> str:
        """Returns a short text (an error message, for example) as it may be shown: redacted, or empty when content
        is off."""
        ...

    def prompt(self, text: str, redact: Redact | None = None) -> str:
        """Returns a question to a person after the redaction hooks, with secrets after their names (`password=...`)
        masked. Never empty, even when content is off: the person has to know the question."""
        ...

    def displayable(self, value: object, redact: Redact | None = None) -> Any:
        """Returns the value as redacted plain JSON values; None when content is off."""
        ...

    def restore_data_ref(
        self,
        value: object,
        frames: FrameList,
        *,
        self_contained: bool,
        redact: Redact | None = None,
        unbounded: bool = False,
    ) -> tuple[ContentRef | None, str | None]:
        """Records the data needed beside a result's content to restore it with its types, and returns its ref.
        `self_contained`: this data does not rely on the content.

        (None, None): no data is needed. (None, why): the result cannot be restored. `unbounded`: without size limits.
        """
        ...

    def equals_content(
        self, value: object, ref: ContentRef | None, redact: Redact | None = None, *, unbounded: bool = False
    ) -> bool:
        """Whether the content of `ref` equals the value, i.e. no redaction hook changed it. `unbounded`: as in
        `payload`."""
        ...

    def error(
        self,
        described: Mapping[str, Any],
        raised: BaseException | None,
        frames: FrameList,
        redact: Redact | None = None,
    ) -> ContentRef | None:
        """Records an exception as `described` (type, message, stacktrace), and returns its ref. Adds the data to
        rebuild `raised`, if the redaction hooks leave it unchanged.
        """
        ...

    def journal_start(self, fields: Sequence[Any], frames: FrameList) -> None:
        """Journals a span that has begun, with the frames collected so far, and clears them."""
        ...

    def journal_end(self, fields: Sequence[Any], frames: FrameList) -> None:
        """Journals a span that has ended, with the frames collected since. For a span of another instrumentation,
        `fields` ends with the name of its scope."""
        ...

    def journal_contents(self, frames: FrameList) -> None:
        """Journals the frames collected so far, and clears them. For contents that none of our spans refers to."""
        ...

    def log(self, name: str, fields: Sequence[Any], frames: FrameList) -> None:
        """Journals a log event: `fields` are time ns, trace id, span id, attributes."""
        ...
