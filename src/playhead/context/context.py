"""A managed context: the messages that a model sees, kept within its window.

    ctx = Context(system="Be brief.", compression=Compression(strategy=LlmSummary(model="gpt-4o-mini")))
    ctx.add("user", text)
    answer = client.chat.completions.create(model="gpt-4o", messages=ctx.for_model())
    ctx.answered(answer)

An ordinary object: it needs no run, no collector and no framework. In a run, its compressions are recorded, and in a
resumed run it compresses where the recorded run did, since it sees the recorded usage.
"""

import asyncio
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import orjson

from playhead.api.scope import propagate_to_thread
from playhead.calls.asyncio_here import running_task
from playhead.context.compressing import WORTH, CompressionWork, compress_entries, not_compressed
from playhead.context.entries import ASSISTANT, SYSTEM, TOOL, Entry
from playhead.context.limits import window_of
from playhead.context.meter import TokenMeter
from playhead.context.plan import CompressionPolicy, Plan, Strategy
from playhead.context.policy import AnyCompression, Compression, check_compression
from playhead.context.recording import record_marks
from playhead.context.report import Basis, CompressionReport, ContextStats, Trigger
from playhead.context.strategies import BuiltIn, check_model
from playhead.context.summaries import answered, answered_async
from playhead.kernel.guard import guarded, warn_once
from playhead.model.json_value import Json, JsonMapping, JsonValue, list_of, text_at
from playhead.model.message import Message, text_message
from playhead.models.apis import APIS, ApiName, as_json
from playhead.models.failures import says_too_long
from playhead.models.model import Model, ModelResponse

T = TypeVar("T")


class RawMessages:
    """The messages as the provider writes them: a sequence, and `add` for more."""

    def __init__(self, context: "Context") -> None:
        self._context = context

    def add(self, message: object, *, preserve: bool = False, tags: Sequence[str] = ()) -> None:
        """Adds a message in the provider's form: a dictionary, or an object of its client. One that has results of
        several tools becomes several entries. Raises TypeError for anything else."""
        self._context.add_native(as_json(message), preserve=preserve, tags=tags)

    def extend(self, messages: Iterable[object]) -> None:
        """Adds several messages."""
        for message in messages:
            self.add(message)

    def __iter__(self) -> Iterator[JsonMapping]:
        return iter(self._context.native_messages())

    def __len__(self) -> int:
        return len(self._context.native_messages())

    def __getitem__(self, index: int) -> JsonMapping:
        return self._context.native_messages()[index]


@dataclass(frozen=True, slots=True)
class _Sent:
    """What `for_model` gave to the model: the estimate of the entries."""

    estimate: int
    version: int


class Context:
    """The messages of one conversation. Safe for threads; two tasks that talk in turn need a context each.

    `system`: the system prompt. `compression`: a `Compression`, one of the strategies, or an object of the protocol
    `CompressionPolicy` in its place; None: the defaults of `Compression`. `model`: the name (or the object) of the
    model that is asked, for its window, and for summaries for which no other model is given; None: learned from the
    answers.

    `api`: the form of the messages that `for_model` returns: `chat` (Chat Completions and LiteLLM), `responses`
    (OpenAI's Responses), `anthropic`, `gemini`, or `canonical` for the models of `playhead.models`. For Anthropic and
    Gemini, give the client `system=ctx.system` too.
    """

    def __init__(
        self,
        system: str | None = None,
        *,
        compression: AnyCompression | None = None,
        model: Model | str | None = None,
        api: ApiName = "chat",
    ) -> None:
        if api not in APIS:
            raise ValueError(f"Context(api={api!r}): expected one of {', '.join(APIS)}")
        self._api = APIS[api]
        check_model("Context", model)
        self._compression: Compression = _compression_of(compression)
        self._policy: CompressionPolicy | None = _policy_of(compression)
        self._model = model
        self._asked: Model | str | None = None  # by the call that is prepared now
        self._window: int | None = None  # of a model that the table of models does not have
        self._system: Entry | None = None
        self._lock = threading.RLock()
        self._entries: list[Entry] = []
        self._history: list[Entry] = []
        self._meter = TokenMeter()
        self._by_policy: list[Entry] = []  # preserved since the policy says so
        self._sent: dict[int, _Sent] = {}
        self._version = 0  # of the entries; a compression makes a new one
        self._compressions = self._checkpoints = 0
        self._not_before: int | None = None
        self._is_compressing = False  # in a coroutine, which waits for a summary
        self._is_on_server = False
        self._followed: list[Json] = []
        self.raw = RawMessages(self)
        if system is not None:
            self._system = self._append_entry(text_message(SYSTEM, system))

    # --- adding ----------------------------------------------------------------------------------------------------

    def add(
        self,
        role: str,
        content: JsonValue,
        *,
        call: str | None = None,
        name: str | None = None,
        preserve: bool = False,
        tags: Sequence[str] = (),
    ) -> Entry:
        """Adds a message, and returns its entry. `content`: a text, or a list of parts as the provider writes them.

        For `role="tool"`: the result, a text or such a list; any other value is added as JSON. `call`: the id of the
        tool call; `name`: the tool's name, which Gemini needs where calls have no ids. No compression removes a message
        with `preserve`.
        """
        with self._lock:
            if role == TOOL:
                tool = name or self._tool_of(call)
                message = self._api.result(call, tool, _result_of(content))
            elif isinstance(content, str):
                message = text_message(role, content)
            else:
                return self.add_native(self._api.native(role, content), preserve=preserve, tags=tags)
            return self._append_entry(message, preserve=preserve, tags=tags)

    def add_native(self, native: JsonMapping, *, preserve: bool = False, tags: Sequence[str] = ()) -> Entry:
        """Adds a message in the provider's form, and returns its last entry; see `raw.add`."""
        with self._lock:
            entry: Entry | None = None
            for piece in self._api.cut(native):
                entry = self._append(Entry(piece, self._api.to_message(piece)), preserve=preserve, tags=tags)
            if entry is None:
                raise ValueError("this message has no content")
            return entry

    def answered(self, response: object) -> Entry | None:
        """Adds a model's answer, and learns the true number of tokens. `response`: the client's object, its JSON, the
        chunks of a stream in a list, or a `ModelResponse`. Returns the entry; of an answer with several, the last one.

        Logs and adds nothing if this is no answer of the context's API. Tool calls in it wait for `add("tool", ...)`.
        """
        with self._lock, guarded("read a model's answer"):
            if isinstance(response, ModelResponse):
                self._model = self._model or response.model
                self._learn(response.usage.input_tokens)
                return self._append_entry(response.message)
            answer = self._api.answer(response)
            self._model = self._model or answer.model
            self._is_on_server = self._is_on_server or answer.is_continued
            self._learn(answer.usage.input_tokens)
            entry: Entry | None = None
            for native in answer.natives:
                for piece in self._api.cut(native):
                    entry = self._append(Entry(piece, self._api.to_message(piece)))
            return entry
        return None

    def reported(self, input_tokens: int | None) -> None:
        """Learns how many tokens the provider counted in what the last `for_model()` or `follow()` returned. For
        answers that are not added with `answered()`."""
        with self._lock:
            self._learn(input_tokens)

    def tag(self, entry: Entry, *tags: str) -> None:
        """Adds tags to a message."""
        with self._lock:
            entry.tags = (*entry.tags, *(tag for tag in tags if tag not in entry.tags))
            self._preserve_by_policy(entry)
        record_marks(self._api, entry.native, entry.tags, preserve=entry.preserve)

    def preserve(self, entry: Entry, *, on: bool = True) -> None:
        """Says that no compression removes this message; with `on=False`, that it may."""
        with self._lock:
            entry.preserve = on
            self._by_policy = [other for other in self._by_policy if other is not entry]
        record_marks(self._api, entry.native, entry.tags, preserve=on)

    def instruct(self, system: str) -> None:
        """Sets the system prompt: adds it as the first message, or replaces the one that was set. Another system prompt
        makes the provider's prompt cache useless for this context."""
        with self._lock:
            message = text_message(SYSTEM, system)
            if self._system is not None and self._system.message == message:
                return
            entry = Entry(self._api.from_message(message), message)
            entry.tokens = self._compression.tokens_of(entry)
            for entries in (self._entries, self._history):
                if self._system is not None and self._system in entries:
                    entries[entries.index(self._system)] = entry
                else:
                    entries.insert(0, entry)
            self._system = entry
            self._version += 1

    # --- what the model sees -----------------------------------------------------------------------------------------

    def for_model(self, model: Model | str | None = None) -> list[Any]:
        """Returns the messages as the client takes them, whatever the types are that it declares for them. Compresses
        before, if that is due and the policy is automatic. `model`: the one that this call asks, if it is another than
        the context's: they have to fit into its window, too.

        Blocks while a summary is written: in coroutines, use `for_model_async`.
        """
        with self._lock, self._asking(model):
            self._compress_if_due()
            return self._handed_out()

    async def for_model_async(self, model: Model | str | None = None) -> list[Any]:
        """The same, without blocking the event loop while a summary is written; what is added meanwhile stays. If the
        task is cancelled, the messages are as they were."""
        with self._lock, self._asking(model):
            work = self._work_if_due()
            if work is not None:
                self._is_compressing = True
        if work is not None:
            await self._compressed_async(work)
        with self._lock:
            return self._handed_out()

    def follow(self, messages: Sequence[object]) -> list[JsonMapping]:
        """Adds what is new in a list that a framework hands over whole at each call, and returns `for_model()`.

        `messages`: in the provider's form, all of the conversation so far, without the system prompt. Raises ValueError
        for a list that does not begin with the messages of the last one: it is another conversation.
        """
        with self._lock:
            self._add_new_of(messages)
            return self.for_model()

    async def follow_async(self, messages: Sequence[object]) -> list[JsonMapping]:
        """The same, and returns `for_model_async()`."""
        self._add_new_of(messages)
        return await self.for_model_async()

    def _add_new_of(self, messages: Sequence[object]) -> None:
        with self._lock:
            self._sent.clear()  # a call that got no answer was given up
            given = [as_json(message) for message in messages]
            if not self.is_continued_by(given):
                raise ValueError("this is not the conversation that the context has: begin another Context")
            for native in given[len(self._followed) :]:
                self.add_native(native)
            self._followed = given

    def is_continued_by(self, messages: Sequence[Json]) -> bool:
        """Whether the list begins with the messages that `follow` was given last."""
        with self._lock:
            return [*messages[: len(self._followed)]] == self._followed

    @property
    def system(self) -> JsonValue:
        """The system prompt as the client takes it apart from the messages (Anthropic, Gemini); None elsewhere.

        Where summaries become a part of it, this compresses like `for_model`, so that both belong together whichever is
        read first. In coroutines, it is then to be read after `await for_model_async()`."""
        with self._lock:
            if self._compression.summary_in == "system":
                self._compress_if_due()
            return self._api.request([entry.native for entry in self._entries]).system

    def native_messages(self) -> list[JsonMapping]:
        """Returns the messages as the client takes them, without a compression."""
        with self._lock:
            return self._api.request([entry.native for entry in self._entries]).messages

    @property
    def messages(self) -> list[Entry]:
        """What the model sees."""
        with self._lock:
            return [*self._entries]

    @property
    def history(self) -> list[Entry]:
        """Every message that was ever added, without summaries."""
        with self._lock:
            return [*self._history]

    def tagged(self, tag: str) -> list[Entry]:
        """Returns the messages of the history with this tag."""
        with self._lock:
            return [entry for entry in self._history if tag in entry.tags]

    @property
    def stats(self) -> ContextStats:
        """How full the context is."""
        with self._lock:
            tokens, limit = self._tokens(), self._limit()
            return ContextStats(
                tokens, limit, None if limit is None else tokens / limit, len(self._entries), self._compressions,
                self._checkpoints, self._basis(),
            )  # fmt: skip

    # --- compressing -------------------------------------------------------------------------------------------------

    def compress(
        self,
        note: str | None = None,
        *,
        strategy: Strategy | None = None,
        only: Callable[[Entry], bool] | None = None,
    ) -> CompressionReport:
        """Compresses now. `note`: why, for the record. `strategy`: another one, this once. `only`: a function of an
        entry; all for which it is false stay. Never raises for a failed summary: the report says what happened."""
        with self._lock:
            return self._compressed(self._work("manual", note=note, strategy=strategy, only=only))

    async def compress_async(
        self,
        note: str | None = None,
        *,
        strategy: Strategy | None = None,
        only: Callable[[Entry], bool] | None = None,
    ) -> CompressionReport:
        """The same, without blocking the event loop; see `for_model_async`."""
        return await self._begun_async(lambda: self._work("manual", note=note, strategy=strategy, only=only))

    def refused(self, error: BaseException) -> bool:
        """Compresses if a provider's error says that the context is too long. Returns whether it is shorter now, so
        that the call is worth another try; False for any other error."""
        if not says_too_long(error):
            return False
        with self._lock:
            self._sent.clear()
            return self._compressed(self._work("limit_error")).changed

    async def refused_async(self, error: BaseException) -> bool:
        """The same, without blocking the event loop; see `for_model_async`."""
        if not says_too_long(error):
            return False
        with self._lock:
            self._sent.clear()
        return (await self._begun_async(lambda: self._work("limit_error"))).changed

    @contextmanager
    def using(self, compression: Compression | Strategy) -> Generator[None]:
        """Uses another policy, or another strategy of this policy, inside the block: for a turn or a phase. In the
        block, another policy also says what is preserved, beside what this one has preserved, and counts."""
        with self._lock:
            before, first = (self._compression, self._policy, self._by_policy), len(self._history)
            self._by_policy = []
            if isinstance(compression, Compression):
                self._take_policy(compression, None)
                self._preserve_by_policy(*self._entries)
            else:
                self._take_policy(replace(self._compression, strategy=compression), None)
        try:
            yield
        finally:
            with self._lock:
                for entry in self._by_policy:
                    entry.preserve = False
                ours, policy, self._by_policy = before
                self._take_policy(ours, policy)
                self._preserve_by_policy(*(entry for entry in self._history if entry.number >= first))

    def _take_policy(self, compression: Compression, policy: CompressionPolicy | None) -> None:
        """Makes this the policy; another counter counts all messages again."""
        is_counted_otherwise = compression.count is not self._compression.count
        self._compression, self._policy, self._not_before = compression, policy, None
        if is_counted_otherwise:
            self._version += 1
            for entry in self._entries:
                entry.tokens = compression.tokens_of(entry)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _handed_out(self) -> list[Any]:
        """Returns the messages, and notes for whom, since the next answer says how many tokens these have."""
        task = running_task()
        self._sent[threading.get_ident() if task is None else id(task)] = _Sent(self._estimate(), self._version)
        if len(self._sent) > 1:
            warn_once(
                "two tasks in one context",
                "a context was read for a model by two threads or tasks before an answer was added: their messages and "
                "their usage get mixed up; give each conversation a Context of its own",
            )
        return self.native_messages()

    def _append_entry(self, message: Message, *, preserve: bool = False, tags: Sequence[str] = ()) -> Entry:
        return self._append(Entry(self._api.from_message(message), message), preserve=preserve, tags=tags)

    def _append(self, entry: Entry, *, preserve: bool = False, tags: Sequence[str] = ()) -> Entry:
        entry.number, entry.tags = len(self._history), (tags,) if isinstance(tags, str) else tuple(tags)
        entry.tokens = self._compression.tokens_of(entry)
        entry.preserve = preserve
        self._preserve_by_policy(entry)
        self._entries.append(entry)
        self._history.append(entry)
        if entry.tags or preserve:
            record_marks(self._api, entry.native, entry.tags, preserve=entry.preserve)
        return entry

    def _preserve_by_policy(self, *entries: Entry) -> None:
        """Preserves the entries of which the policy says so; noted, since the policy of a block ends."""
        for entry in entries:
            if not entry.preserve and self._is_preserved(entry):
                entry.preserve = True
                self._by_policy.append(entry)

    def _is_preserved(self, entry: Entry) -> bool:
        """What the policy's function says; True if it raises: nothing is lost by an error."""
        if self._compression.preserve is None:
            return False
        with guarded("ask whether a message is preserved"):
            return bool(self._compression.preserve(entry))
        return True

    def _tool_of(self, call: str | None) -> str | None:
        """Returns the name of the tool that a call asked for."""
        for entry in reversed(self._entries):
            for part in entry.message["parts"]:
                if part.get("type") == "tool_call" and call in (None, part.get("id")):
                    return str(part.get("name"))
            if entry.role == ASSISTANT and call is None:
                break
        return None

    def _learn(self, reported: int | None) -> None:
        task = running_task()
        sent = self._sent.pop(threading.get_ident() if task is None else id(task), None)
        if sent is None and len(self._sent) == 1:  # answered in another thread
            _, sent = self._sent.popitem()
        is_estimated = self._compression.count is None  # else there is nothing to correct
        if reported is not None and is_estimated and sent is not None and sent.version == self._version:
            self._meter.reported(sent.estimate, reported)

    def _estimate(self) -> int:
        return sum(entry.tokens for entry in self._entries)

    def _tokens(self) -> int:
        estimate = self._estimate()
        return estimate if self._compression.count is not None else self._meter.tokens(estimate)

    def _basis(self) -> Basis:
        return "counted" if self._compression.count is not None else self._meter.basis(self._estimate())

    @contextmanager
    def _asking(self, model: Model | str | None) -> Generator[None]:
        """Inside the block, the messages have to fit into this model's window, too."""
        before, self._asked = self._asked, model
        try:
            yield
        finally:
            self._asked = before

    def _limit(self) -> int | None:
        limits = [self._compression.limit or _window(self._model) or self._window, _window(self._asked)]
        return min((limit for limit in limits if limit is not None), default=None)

    def _due(self) -> Plan | str | None:
        """Returns why a compression is due, or the plan of a policy in the place of ours; None: it is not."""
        if self._policy is not None:
            return self._plan_of_policy()
        if not self._compression.auto:
            return None
        tokens = self._tokens()
        reason = self._compression.reached(self._entries, tokens, self._limit())
        if reason is None or (self._not_before is not None and tokens < self._not_before):
            return None
        return reason

    def _plan_of_policy(self) -> Plan | None:
        """What a policy in the place of ours says; None: nothing is to be done, or it raised."""
        if self._policy is not None:
            with guarded("ask the policy of a context"):
                plan = self._policy.plan([*self._entries], self._tokens(), self._limit())
                return plan if plan is not None and plan.changes else None
        return None

    def _compress_if_due(self) -> CompressionReport | None:
        """Returns None if no compression is due."""
        work = self._work_if_due()
        return None if work is None else self._compressed(work)

    def _work_if_due(self) -> CompressionWork | None:
        """Returns the compression that is due; None: none is, or one is being made."""
        due = None if self._is_compressing else self._due()
        if due is None:
            return None
        return self._work("threshold", plan=due if isinstance(due, Plan) else None, by_turns=due == "turns")

    def _compressed(self, work: CompressionWork) -> CompressionReport:
        if self._is_compressing:
            return not_compressed(work, _UNDER_WAY)
        return self._take(work, *answered(compress_entries(work)))

    async def _begun_async(self, make: Callable[[], CompressionWork]) -> CompressionReport:
        with self._lock:
            work = make()
            if self._is_compressing:
                return not_compressed(work, _UNDER_WAY)
            self._is_compressing = True
        return await self._compressed_async(work)

    async def _compressed_async(self, work: CompressionWork) -> CompressionReport:
        """Makes the compression, of which `_is_compressing` says that it has begun. Nobody holds the lock meanwhile."""
        try:
            entries, report = await answered_async(compress_entries(work))
            with self._lock:
                return self._take(work, entries, report)
        finally:
            self._is_compressing = False

    def _work(
        self,
        trigger: Trigger,
        *,
        note: str | None = None,
        strategy: Strategy | None = None,
        only: Callable[[Entry], bool] | None = None,
        plan: Plan | None = None,
        by_turns: bool = False,
    ) -> CompressionWork:
        """Returns the compression of the entries as they are now."""
        counted = self._compression.count is not None
        meter = TokenMeter() if counted else self._meter
        policy = None if strategy is not None else self._policy
        if policy is not None and plan is None:
            plan = self._plan_of_policy() or Plan.keeping(
                self._entries, "its policy says that nothing is to be done now"
            )
        return CompressionWork(
            api=self._api,
            entries=[*self._entries],
            compression=self._compression if strategy is None else replace(self._compression, strategy=strategy),
            meter=meter,
            limit=self._limit(),
            model=self._model or self._asked,
            trigger=trigger,
            number=len(self._history),
            note=note,
            only=only,
            plan=plan,
            policy_name=None if policy is None else type(policy).__name__,
            by_turns=by_turns or (trigger != "threshold" and self._compression.is_by_turns),
            on_server=self._is_on_server,
        )

    def _take(self, work: CompressionWork, entries: Sequence[Entry], report: CompressionReport) -> CompressionReport:
        """Makes the entries those of the context."""
        if report.changed:
            self._entries = self._with_new(work.entries, entries)
            self._version += 1
            self._compressions += 1
            self._checkpoints += report.summary is not None
        if work.trigger == "threshold":  # one that freed little is not tried again before the context has grown as much
            is_worth = report.tokens_before - report.tokens_after >= WORTH * report.tokens_before
            self._not_before = None if is_worth else round((1 + WORTH) * report.tokens_after) + 1
        return report

    def _with_new(self, before: Sequence[Entry], after: Sequence[Entry]) -> list[Entry]:
        """Returns the entries after a compression, with what the context has got since it began: messages, or another
        system prompt."""
        old, now = set(map(id, before)), set(map(id, self._entries))
        stay = [entry for entry in after if id(entry) in now or id(entry) not in old]
        new = [entry for entry in self._entries if id(entry) not in old]
        is_instructed = bool(new) and new[0] is self._system
        return [new[0], *stay, *new[1:]] if is_instructed else [*stay, *new]


# Types of the parts that providers take in a tool's result (Chat Completions, Anthropic, Responses). A list of objects
# with another `type`, such as the files of a folder, is a value.
_RESULT_PARTS = frozenset(
    {
        "text", "image_url", "image", "document", "search_result", "tool_reference", "input_text", "input_image",
        "input_file",
    }
)  # fmt: skip
_UNDER_WAY = "another compression of this context is under way"


def _result_of(value: object) -> str | list[JsonValue]:
    """Returns a tool's result as a message has it: texts and lists of parts as they are, anything else as JSON."""
    parts = list_of(value)
    if isinstance(value, str) or (parts and all(text_at(part, "type", None) in _RESULT_PARTS for part in parts)):
        return cast("str | list[JsonValue]", value)
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError:  # an integer beyond 64 bits, or a value that holds itself
        return str(value)


def _compression_of(given: AnyCompression | None) -> Compression:
    check_compression(given)
    if isinstance(given, Compression):
        return given
    if isinstance(given, BuiltIn):
        return Compression(strategy=given)
    return Compression() if given is None else Compression(fallback=None)  # a policy in its place has its own ideas


def _window(model: Model | str | None) -> int | None:
    return None if model is None else window_of(model if isinstance(model, str) else model.name)


def _policy_of(given: AnyCompression | None) -> CompressionPolicy | None:
    if given is None or isinstance(given, Compression | BuiltIn):
        return None
    return given


async def in_thread(work: Callable[[], T]) -> T:
    """Runs the function in another thread, in the current run."""
    return await asyncio.to_thread(propagate_to_thread(work))
