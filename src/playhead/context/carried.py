"""The context of a conversation that a framework keeps: made anew of its messages at each model call. Pure but for the
compression itself.

One agent has many conversations at once, and each may go on in another process. So nothing of a conversation is kept
here. What its messages do not say (how many tokens an estimated one has, and when the next compression is worth it)
rides on one of them, as a memo that no model sees. The usage that the provider reported is on its answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from playhead.context.context import Context
from playhead.context.entries import CLEARED, SYSTEM, USER, Entry, EntryKind
from playhead.context.meter import TokenMeter
from playhead.context.policy import AnyCompression
from playhead.context.summaries import BEGINNING
from playhead.model.json_value import Json, JsonMapping, int_at, object_at, text_at
from playhead.models.apis import CHAT
from playhead.models.model import Model

S = TypeVar("S")

MEMO_KEY: Final = "playhead"
"""Under this key, a framework's message has the memo, among the data that it does not send to a model."""


@dataclass(frozen=True, slots=True)
class CarriedMessage(Generic[S]):
    """A message that a framework keeps. `native`: in the form of Chat Completions; `source`: the framework's object.

    Of an answer: `input_tokens`, those which the provider reported for all messages before it, and `model`, the name of
    the model that answered. `memo`: that of `MessagesLeft`, if it was put on this message.
    """

    native: JsonMapping
    source: S
    input_tokens: int | None = None
    model: str | None = None
    memo: JsonMapping | None = None


@dataclass(frozen=True, slots=True)
class MessageLeft(Generic[S]):
    """A message after a compression. `source`: the framework's object; None: a new summary. `text`: that of the
    summary, or what replaces the result of a tool; None: the message is unchanged."""

    role: str
    source: S | None
    text: str | None


@dataclass(frozen=True, slots=True)
class MessagesLeft(Generic[S]):
    """The messages after an attempt to compress, and the memo that the last of them has to carry."""

    messages: Sequence[MessageLeft[S]]
    memo: Json


class CarriedContext(Context, Generic[S]):
    """A context for one model call of a framework's agent. `messages`: all that the framework would send, without a
    system prompt that it keeps apart. `window`: of the model, in tokens, as the framework says it; it counts where
    neither the policy nor the table of models has one."""

    def __init__(
        self,
        messages: Sequence[CarriedMessage[S]],
        compression: AnyCompression | None,
        model: Model | str | None,
        *,
        window: int | None = None,
    ) -> None:
        super().__init__(compression=compression, model=model)
        self._window = window
        self._sources: dict[int, tuple[Entry, S]] = {}
        tokens = 0
        for message in messages:
            if message.input_tokens is not None:
                self._meter.reported(tokens, message.input_tokens)
            tokens += self._carry(message).tokens

    def compressed(self) -> MessagesLeft[S] | None:
        """Compresses if that is due. Returns None if it is not. Raises only RunStopped, in resumed runs."""
        with self._lock:
            return None if self._compress_if_due() is None else self._messages_left()

    async def compressed_async(self) -> MessagesLeft[S] | None:
        """The same, without blocking the event loop while a summary is written."""
        work = self._work_if_due()
        if work is None:
            return None
        await self._compressed_async(work)
        return self._messages_left()

    def _messages_left(self) -> MessagesLeft[S]:
        memo: Json = {"meter": self._meter.to_json(), "not_before": self._not_before}
        return MessagesLeft([self._left(entry) for entry in self._entries], memo)

    def _carry(self, message: CarriedMessage[S]) -> Entry:
        entry = Entry(message.native, CHAT.to_message(message.native))
        entry.kind = _kind_of(entry)
        self._append(entry)
        self._sources[entry.number] = (entry, message.source)
        self._model = self._model or message.model
        if message.memo is not None:  # reports before it are about messages that are gone
            self._meter = TokenMeter.from_json(object_at(message.memo, "meter"))
            self._not_before = int_at(message.memo, "not_before", None)
        return entry

    def _left(self, entry: Entry) -> MessageLeft[S]:
        known = self._sources.get(entry.number)
        if known is None:
            return MessageLeft(entry.role, None, entry.text)
        original, source = known
        return MessageLeft(entry.role, source, None if entry is original else text_at(entry.native, "content"))


def _kind_of(entry: Entry) -> EntryKind:
    """Returns what an earlier compression made of this message: frameworks keep its text, and no kind."""
    if entry.role in (USER, SYSTEM) and entry.text.startswith(BEGINNING):
        return "summary"
    return "masked" if entry.results and entry.text.startswith(CLEARED) else "message"


def memo_of(data: object) -> JsonMapping | None:
    """Returns the memo in the data of a framework's message; None: there is none."""
    return object_at(data, MEMO_KEY) or None
