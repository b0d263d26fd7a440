"""The interface to the recorder, which is a later stage. `api.runtime` has the recorder in use."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from playhead.api.opentelemetry_sdk import TracerProvider
from playhead.model.message import Message
from playhead.model.objects.limits import Cut
from playhead.model.ref import ContentRef

Redact = Callable[[Any], Any]


class Frames(list[bytes]):
    """Journal frames that a call has collected. Opaque here; made and consumed by the recorder.

    `new` are the refs of the contents and threads in it, by digest; who makes one gives it an empty one.  `cut` says
    why something of the payload that was recorded last is left out; None: nothing is.  `dropped` is the digest of a
    content for which there was no room.
    """

    __slots__ = ("cut", "dropped", "new")
    new: dict[bytes, ContentRef]
    cut: Cut | None
    dropped: bytes


class RunThreads:
    """Threads of one run that the recorder knows already, so that common prefixes are hashed once. Freed with the
    run."""

    __slots__ = ("threads",)

    def __init__(self) -> None:
        self.threads: list[Any] = []


class RunOwner(Protocol):
    """Whether this process still owns a run that it has begun or resumed. Safe for threads."""

    def loss(self, *, exact: bool) -> str | None:
        """Who has taken the run over, as a sentence; None while this process has it. Never raises.

        `exact`: as it is now, for what is about to take effect; else as it was a moment ago, which costs next to
        nothing.
        """
        ...


class Recorder(Protocol):
    """Turns payloads into refs, and makes calls durable. No method raises; none blocks longer than a journal append.

    `redact` is the call's own hook; the hook of `configure` runs after it.
    """

    frames: type[Frames]
    """What to make for a call, and for this recorder to fill."""
    content: bool
    """Whether payloads are recorded at all."""
    reasoning: bool
    """Whether what models think aloud is recorded."""
    always: bool
    """Whether runs are recorded that the sampler drops."""

    redacts: bool
    """Whether there is a hook for all payloads, so that the record may not hold what the program saw."""
    provider: TracerProvider
    """Sampler, resource and limits as OpenTelemetry's environment variables say, for programs without a provider."""

    def payload(
        self, value: Any, frames: Frames, redact: Redact | None = None, *, unbounded: bool = False
    ) -> ContentRef | None:
        """The ref of a value; None: not recorded. A content that is not in the journal yet joins `frames`.

        Of a large value, a part is left out, which `frames.cut` says. `unbounded`: never."""
        ...

    def repeated(self, value: Any, frames: Frames, redact: Redact | None = None) -> ContentRef | None:
        """As `payload`, faster for a value that is probably the same as in an earlier call."""
        ...

    def digest_of_part(self, value: Any, part: Callable[[Any], Any], redact: Redact | None = None) -> str | None:
        """The digest of `part` of what `payload` records of the value; None: it is all of it, or nothing is recorded.

        `part` returns what it was given where it leaves nothing out."""
        ...

    def thread(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        conversation: RunThreads,
        frames: Frames,
        redact: Redact | None = None,
    ) -> ContentRef | None:
        """The ref of a model call's input. Only messages that earlier calls of the conversation did not have are
        hashed.
        """
        ...

    def exact_thread(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        from_message: Callable[[Message], Mapping[str, Any]],
        conversation: RunThreads,
        frames: Frames,
        *,
        shape: Mapping[str, Any] | None = None,
        redact: Redact | None = None,
        whole: int = 0,
    ) -> tuple[ContentRef | None, ContentRef | None]:
        """As `thread`, and the ref of the difference between the request and its canonical messages (None: no
        difference).

        That content is JSON: `{"parent", "place", "patch"}` for a message that `from_message` does not restore as it
        was given; with a `shape`, that object, with the ref of the former under `messages`.  `whole`: how many of the
        first messages are known to need no cutting, which is remembered with them.
        """
        ...

    def goes_on(
        self,
        messages: Sequence[Any],
        to_message: Callable[[Mapping[str, Any]], Message],
        conversation: RunThreads,
    ) -> bool:
        """Whether these are the messages of an earlier call of the conversation, then a model's answer, and more."""
        ...

    def message_thread(self, messages: Sequence[Message], frames: Frames) -> ContentRef | None:
        """The ref of a short thread of canonical messages, e.g. a call's output."""
        ...

    def native_message(
        self,
        message: Any,
        to_message: Callable[[Mapping[str, Any]], Message],
        frames: Frames,
        redact: Redact | None = None,
    ) -> ContentRef | None:
        """The ref of one message in the provider's form, equal to its ref in a thread."""
        ...

    def message(self, message: Message, redact: Redact | None = None) -> Message:
        """A canonical message after the redaction hooks."""
        ...

    def text(self, text: str, redact: Redact | None = None) -> str:
        """Returns a short text (an error message, for example) as it may be shown: redacted, or empty when content
        is off."""
        ...

    def prompt(self, text: str, redact: Redact | None = None) -> str:
        """A text that the program asks a person, after the redaction hooks, with secrets masked that stand behind their
        names (`password=...`). Never empty, also when content is off: whoever is asked has to know what."""
        ...

    def shown(self, value: Any, redact: Redact | None = None) -> Any:
        """Plain JSON values of it, as they may be shown: redacted, or None when content is off."""
        ...

    def faithful(
        self,
        value: Any,
        frames: Frames,
        *,
        whole: bool,
        redact: Redact | None = None,
        unbounded: bool = False,
    ) -> tuple[ContentRef | None, str | None]:
        """What must be kept beside a result's own content so that it can be given back as it was (`whole`: all of it).

        (None, None): nothing.  (None, why): it cannot be given back.  `unbounded`: however much it is.
        """
        ...

    def is_as_given(
        self, value: Any, ref: ContentRef | None, redact: Redact | None = None, *, unbounded: bool = False
    ) -> bool:
        """Whether the content of `ref` is what is recorded of the value, i.e. no redaction hook changed it.
        `unbounded`: as in `payload`."""
        ...

    def error(
        self, described: Mapping[str, Any], raised: BaseException | None, frames: Frames, redact: Redact | None = None
    ) -> ContentRef | None:
        """The ref of an exception as `described` (type, message, stacktrace). Data to rebuild `raised` join it, if the
        hooks leave them unchanged.
        """
        ...

    def announce(self, fields: Sequence[Any], frames: Frames) -> None:
        """Journals a span that has begun, with the frames collected so far, and clears them."""
        ...

    def end(self, fields: Sequence[Any], frames: Frames) -> None:
        """Journals a span that has ended, with the frames collected since. A span of another instrumentation has its
        scope's name as one more field."""
        ...

    def keep(self, frames: Frames) -> None:
        """Journals the frames collected so far, and clears them: contents that no span of ours names."""
        ...

    def log(self, name: str, fields: Sequence[Any], frames: Frames) -> None:
        """Journals a log event: `fields` are time ns, trace id, span id, attributes."""
        ...
