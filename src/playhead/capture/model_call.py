"""Records one model call of any provider: an answer, or embeddings. Each capture module uses it.

The call begins with an ObservedRequest, and ends with an ObservedResponse, an error, or both for a stream that broke
off. In a resumed run, a person may have edited its request: other messages, or another system prompt. Two more things
are found out about a call: the body that a library sent, if it builds that from other arguments, and whether an
instrumented client inside a framework's model class records the call.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Never, cast

from opentelemetry import context as otel
from opentelemetry.context import Context

from playhead.calls.begin import CURRENT, begin
from playhead.calls.caller_settings import compared_settings
from playhead.calls.conversations import note_answers
from playhead.calls.lifecycle import abort, current_span, enter, fail_and_detach, finish, reset_context, set_payload
from playhead.calls.recorded_answer import recorded_answer
from playhead.calls.recorder import KnownThreads
from playhead.calls.rendered_prompts import has_prompts, prompt_among
from playhead.calls.replay import ReplayAnswer, RequestEdit, ResponseRestorer
from playhead.calls.requested_tools import add_requested_call
from playhead.calls.run import ActiveRun
from playhead.calls.span import ObservedSpan
from playhead.capture.wrapping import MethodCall
from playhead.dialect import openai_chat as dialect
from playhead.errors import ReplayDiverged
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.json_value import JsonMapping, JsonValue, list_of
from playhead.model.message import Message, message_text, without_reasoning
from playhead.model.ref import ContentRef

# --- request and response ---------------------------------------------------------------------------------------------


@dataclass(slots=True)  # not frozen: that costs a microsecond of each call
class ObservedRequest:
    """Request of a model call.

    `messages` are in the provider's form, as sent; `to_message` converts one to the canonical form, and `from_message`
    back. `settings` is the rest of the request, as sent. `attributes` are the GenAI conventions' `gen_ai.request.*`.
    `shape` tells where the request has its messages; None: in a list `messages`, as in Chat Completions (see
    `playhead_collector.read.context`); with `"sent": False`, the request is not the body that was sent. `as_native`
    converts a message whose `content` an edit has set to a text to the provider's form; None: such a message is valid
    already.

    A request for embeddings has an `embedding_input` (texts, or what the client accepts instead) and no messages.
    """

    provider: str
    operation: str
    model: str
    messages: Sequence[object]
    to_message: Callable[[JsonMapping], Message]
    from_message: Callable[[Message], JsonMapping]
    tools: object = None
    system: object = None
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    attributes: Mapping[str, object] = field(default_factory=dict[str, object])
    shape: Mapping[str, object] | None = None
    embedding_input: object = None
    name: str | None = None
    """The call's name in the paths of the run; None: the operation."""
    as_native: Callable[[JsonValue], JsonValue] | None = None
    uncut_prefix: int = 0
    """How many of the first messages are known to need no cutting: see `dialect.anthropic`."""

    @classmethod
    def of_embeddings(
        cls,
        provider: str,
        model: str,
        embedding_input: object,
        *,
        settings: Mapping[str, object],
        attributes: Mapping[str, object] | None = None,
    ) -> "ObservedRequest":
        """Returns a request for embeddings."""
        return cls(
            provider, "embeddings", model, (), _no_messages, _no_messages,
            settings=settings, attributes=attributes or {}, embedding_input=embedding_input,
        )  # fmt: skip


@dataclass(slots=True)
class ObservedResponse:
    """A model's response. `raw` is the response as received, as JSON values, for exact replay; embeddings have only
    that, with vectors packed by `capture.vectors`. `ordered`: values in `raw` whose order of keys the program can see,
    such as tool arguments that are objects instead of text."""

    messages: Sequence[Message]
    raw: object
    reasoning: object = None
    attributes: Mapping[str, object] = field(default_factory=dict[str, object])
    ordered: Sequence[object] = ()


def _no_messages(_: object) -> Never:
    raise TypeError("a request for embeddings has no messages")


# --- one call ---------------------------------------------------------------------------------------------------------

_SYSTEM_ROLES = ("system", "developer")
_MOST_SYSTEM_MESSAGES = 3
_CLIENT_KIND = 3  # OTLP's SpanKind for a call to another service

BuildArguments = Callable[[list[JsonValue] | None, str | None], MethodCall | None]
"""Returns the call with other messages and another system prompt (None for either: unchanged). Returns None if the call
cannot be edited."""


@dataclass(frozen=True, slots=True)
class ResponseReplayer:
    """Functions with which a provider's module replays recorded responses: `restore` makes the objects for the program,
    `read` the ObservedResponse for the record."""

    restore: ResponseRestorer
    read: Callable[[Any], ObservedResponse | None]
    build_arguments: BuildArguments | None = None
    """Builds the call with an edited request; None: requests cannot be edited."""


@dataclass(frozen=True, slots=True)
class CallStart:
    """When a call began: `time_ns` since the epoch, and the seconds of `time.perf_counter`."""

    time_ns: int
    counter_s: float

    @classmethod
    def now(cls) -> "CallStart":
        """Returns the current time."""
        return cls(time.time_ns(), time.perf_counter())


class ObservedModelCall:
    """One observed model call. `start` returns None when it is not recorded. Raises only RunStopped, in resumed
    runs."""

    __slots__ = ("answer", "began", "edited", "noted_tools", "recorded", "span")

    def __init__(self, span: ObservedSpan):
        self.span = span
        self.recorded: ResponseReplayer | None = None
        self.answer: ReplayAnswer | None = None
        """The recorded answer, in a resumed or forked run: `unwrap` it instead of calling.  None: call the model."""
        self.edited: MethodCall | None = None
        """Result of `build_arguments`, if a person has edited this request; None: call with the program's arguments."""
        self.began = time.perf_counter()
        self.noted_tools = False
        """Whether `note_requested_tools` was called: the tool calls that the answer requests are noted already."""

    @classmethod
    def start(
        cls,
        read: Callable[[], ObservedRequest],
        recorded: "Callable[[ActiveRun], ResponseReplayer] | None" = None,
        *,
        began: CallStart | None = None,
        only_if_known: bool = False,
    ) -> "ObservedModelCall | None":
        """Reads the request and begins the call. On return, the call is in the journal as started, or has an `answer`.

        Returns None if the call is not recorded, also for a client's call inside a recorded model call.  `began`: the
        start time, if it was found out only later that the call is to be recorded.  `only_if_known`: returns None for a
        call that the record of the resumed run does not have.  Raises RunStopped, and nothing else.
        """
        request = call = None
        with guarded("observe a model call"):
            where = otel.get_current()
            if _is_part_of_model_call(where):
                return None
            request = read()
            span = _begin(request, where, is_tentative=only_if_known)
            if span is None or (only_if_known and not _is_known(span)):
                return None
            mark_inner_call(where)
            call = cls(span)
            if began is not None:
                span.start_ns, call.began = began.time_ns, began.counter_s
        if request is None or call is None:
            return None
        span = call.span
        if span.run.replay is not None and recorded is not None:  # not guarded: the program gets what this raises
            call._ask_record(request, recorded(span.run), is_late=began is not None)
        if call.answer is None or call.answer.is_new:
            try:
                enter(span)
            except BaseException as error:  # raised by a signal handler: the model is not called
                fail_and_detach(span, error)
                raise
        return call

    def _ask_record(self, request: ObservedRequest, recorded: ResponseReplayer, *, is_late: bool) -> None:
        """Sets `answer` or `edited`. `is_late`: the model has been called already, so this only checks for a
        divergence."""
        self.recorded = recorded
        answer = recorded_answer(self.span, recorded.restore)
        if answer is None or is_late:
            return
        if answer.edit is not None:
            self.edited = edited_arguments(self.span, request, answer.edit, recorded.build_arguments)
        else:
            self.answer = answer

    def unwrap(self, answer: ReplayAnswer) -> object:
        """Returns the recorded or edited answer, or raises its error. An edited answer is recorded in this run."""
        raw, recorded = answer.raw, self.recorded
        if answer.error is not None:
            if answer.is_new:
                self.fail(answer.error)
        elif raw is None or recorded is None:
            if answer.is_new:
                finish(self.span)
        elif answer.is_new:
            self.end(lambda: recorded.read(raw))
        else:
            self.note_requested_tools(lambda: recorded.read(raw))
        return answer.unwrap()

    def note_requested_tools(self, read: Callable[[], ObservedResponse | None]) -> None:
        """Notes the tool calls that an answer requests, so that tools which run now are linked to them.  `read` returns
        a recorded answer, or one chunk of a stream; of a stream, all chunks that request tools must be noted."""
        self.noted_tools = True
        with guarded("read a recorded answer"):
            response = read()
            if response is not None:
                _request_tools(self.span, response)

    def first_chunk(self) -> None:
        """Notes that the first chunk of a streamed answer has arrived."""
        self.span.attributes.setdefault(names.TIME_TO_FIRST_CHUNK, round(time.perf_counter() - self.began, 6))

    def end(self, read: Callable[[], ObservedResponse | None], *, aborted: bool = False) -> None:
        """Ends the call with its answer. `read` returns the answer; None if it cannot be read. `aborted`: the stream
        was closed before its end."""
        self._take(read)
        if self.span.sent_body is not None:
            record_sent_body(self.span)
        (abort if aborted else finish)(self.span)

    def fail(self, raised: BaseException, read: Callable[[], ObservedResponse | None] | None = None) -> None:
        """Ends the call with an error. `read` returns the part of the answer that had been streamed until then."""
        if read is not None:
            self._take(read)
        if self.span.sent_body is not None:
            record_sent_body(self.span)
        fail_and_detach(self.span, raised)

    def _take(self, read: Callable[[], ObservedResponse | None]) -> None:
        if not self.span.run.recorded:
            return
        with guarded("read a model's answer"):
            response = read()
            if response is not None:
                _record_response(self.span, response)
                if not self.noted_tools:
                    _request_tools(self.span, response)


def _is_part_of_model_call(where: Context) -> bool:
    """Whether the call is inside a model call that we record; if so, adds one to that call's `inner_model_calls`.  An
    outer call that has ended does not count: it is current only because another instrumentation restored its context.
    """
    above = where.get(CURRENT)
    if not isinstance(above, ObservedSpan) or above.inner_model_calls is None or above.end_ns is not None:
        return False
    above.inner_model_calls += 1
    return True


def _begin(request: ObservedRequest, where: Context, *, is_tentative: bool) -> ObservedSpan | None:
    """Begins the span and records the request; returns None if the call is not recorded.  `is_tentative`: the span may
    be dropped later, so the run must not count its messages as recorded."""
    attributes: dict[str, object] = {
        names.OPERATION: request.operation,
        names.PROVIDER: request.provider,
        names.REQUEST_MODEL: request.model,
        **request.attributes,
    }
    label = f"{request.operation} {request.model}"
    # The model belongs to the request, not to the call's name: replay can tell a changed model from another call.
    name, root = request.name or request.operation, {names.RUN_NAME: label}
    kind = "llm" if request.embedding_input is None else "embedding"
    llm_request = request if kind == "llm" else None
    span = begin(kind, name, span_name=label, attributes=attributes, root=root, where=where, request=llm_request)
    if span is not None:
        span.otel_kind = _CLIENT_KIND
        span.inner_model_calls, span.sent_body = 0, None
        if span.run.recorded:
            _record_request(span, request, KnownThreads() if is_tentative else span.run.threads)
    return span


def _is_known(span: ObservedSpan) -> bool:
    """Whether the record of a resumed run has this call; True in a run that is not resumed, and in one that is stopped:
    whoever records the call, it must not be made."""
    replay = span.run.replay
    return replay is None or replay.is_stopped or replay.has_question(span)


def _record_request(span: ObservedSpan, request: ObservedRequest, conversation: KnownThreads) -> None:
    to, frames = span.recorder, span.frames
    if request.embedding_input is not None:
        set_payload(span, names.INPUT_REF, request.embedding_input, unbounded=True)
    else:
        thread, exact = to.sent_thread_refs(
            request.messages, request.to_message, request.from_message, conversation, frames,
            shape=request.shape, redact=span.redact, uncut_prefix=request.uncut_prefix,
        )  # fmt: skip
        if thread is not None:
            span.attributes[names.INPUT_MESSAGES_REF] = thread
        if exact is not None:
            span.attributes[names.EXACT_REF] = exact
    if has_prompts():
        with guarded("note the sections of a prompt"):
            _note_prompt(span, request)
    if request.tools is not None:
        _set_ref(span, names.TOOL_DEFINITIONS_REF, to.repeated(request.tools, frames, span.redact))
    if request.system is not None:
        _set_ref(span, names.SYSTEM_INSTRUCTIONS_REF, to.repeated(request.system, frames, span.redact))
    if request.settings or request.shape is not None:  # APIs other than Chat Completions may have no settings
        _set_ref(span, names.REQUEST_REF, to.repeated(request.settings, frames, span.redact))
        if span.run.replay is not None and (request.messages or request.system or request.embedding_input is not None):
            compared = to.digest_of_part(request.settings, compared_settings, span.redact)
            if compared is not None:  # else all settings are compared
                span.attributes[names.COMPARED_SETTINGS] = compared


def _note_prompt(span: ObservedSpan, request: ObservedRequest) -> None:
    """Notes mode and sections of the system prompt, if the program has rendered it of sections."""
    prompt = prompt_among(_system_texts(request))
    if prompt is not None:
        span.attributes[names.PROMPT_MODE] = prompt.mode
        span.attributes[names.PROMPT_SECTIONS] = [name for name, _ in prompt.sections]
        span.attributes[names.PROMPT_SECTION_TOKENS] = [tokens for _, tokens in prompt.sections]


def _system_texts(request: ObservedRequest) -> Generator[str]:
    """Yields the texts of the system prompt, wherever the API has it."""
    if isinstance(request.system, str):
        yield request.system
    elif request.system is not None:
        yield from _texts_in(request.system)
    for message in request.messages[:_MOST_SYSTEM_MESSAGES]:
        if isinstance(message, Mapping):
            native = cast(JsonMapping, message)
            if native.get("role") in _SYSTEM_ROLES:
                yield message_text(request.to_message(native))


def _texts_in(system: object) -> Generator[str]:
    """Yields the texts in a system prompt of blocks: Anthropic's (`text`), Gemini's (`parts`)."""
    if isinstance(system, Mapping):
        block = cast(JsonMapping, system)
        if isinstance(text := block.get("text") or block.get("content"), str):
            yield text
        yield from _texts_in(block.get("parts"))
    elif isinstance(system, list):
        for item in cast(list[object], system):
            yield from _texts_in(item)


def _record_response(span: ObservedSpan, response: ObservedResponse) -> None:
    span.attributes.update(response.attributes)
    if span.kind == "embedding":
        _record_embeddings(span, response)
    else:
        _record_answer(span, response)


def _record_embeddings(span: ObservedSpan, response: ObservedResponse) -> None:
    _set_ref(span, names.RESPONSE_REF, _raw_ref(span, response))
    if names.RESPONSE_REF in span.attributes:
        span.attributes[names.OUTPUT_REF] = span.attributes[names.RESPONSE_REF]


def _record_answer(span: ObservedSpan, response: ObservedResponse) -> None:
    to, frames = span.recorder, span.frames
    if span.run.answers is not None:
        note_answers(span.run, response.messages)
    redacts = to.redacts or span.redact is not None
    messages = _redacted(span, response.messages) if redacts else response.messages
    if response.reasoning:
        if to.reasoning:
            set_payload(span, names.REASONING_REF, response.reasoning)
        else:
            messages = without_reasoning(messages)
    _set_ref(span, names.OUTPUT_MESSAGES_REF, to.message_thread_ref(messages, frames))
    _set_ref(span, names.RESPONSE_REF, _raw_ref(span, response))
    recorded = span.attributes.get(names.RESPONSE_REF)
    if redacts and not to.equals_content(response.raw, recorded, span.redact, unbounded=True):
        span.attributes[names.UNRESTORABLE] = "its answer is redacted in the record"
    if response.ordered:
        ordered, _ = to.restore_data_ref(
            response.ordered, frames, self_contained=False, redact=span.redact, unbounded=True
        )
        _set_ref(span, names.RESTORE_REF, ordered)


def _raw_ref(span: ObservedSpan, response: ObservedResponse) -> ContentRef | None:
    # Unbounded: replay gives the program the response exactly as it was received.
    return span.recorder.payload(response.raw, span.frames, span.redact, unbounded=True)


def _request_tools(span: ObservedSpan, response: ObservedResponse) -> None:
    for message in response.messages:
        for part in message["parts"]:
            if part.get("type") == "tool_call" and part.get("id"):
                arguments = canonical_json(part.get("arguments"))
                add_requested_call(span.run, str(part.get("name")), arguments, str(part["id"]))


def _redacted(span: ObservedSpan, messages: Sequence[Message]) -> Sequence[Message]:
    return [span.recorder.message(message, span.redact) for message in messages]


def _set_ref(span: ObservedSpan, name: str, ref: ContentRef | None) -> None:
    if ref is not None:
        span.attributes[name] = ref


# --- requests that a person has edited --------------------------------------------------------------------------------

_SYSTEM_REFS = (names.ASKED_SYSTEM_REF, names.SYSTEM_INSTRUCTIONS_REF)


def edited_arguments(
    span: ObservedSpan, request: ObservedRequest, edit: RequestEdit, build_arguments: BuildArguments | None
) -> MethodCall | None:
    """Records the edit on the call's span. Returns the result of `build_arguments`: the arguments to call the model
    with. Returns None if the edit does not concern this call. Raises RunStopped.

    The span then refers to both versions: the edited messages, which the model gets, and the program's own, by which
    the call is found when this run itself is resumed.
    """
    to, attributes = span.recorder, span.attributes
    native = request.as_native or _as_it_is
    unused = to.frames()
    unused.new = {}

    def ref_of(message: JsonValue) -> ContentRef | None:
        return to.native_message_ref(native(message), request.to_message, unused, span.redact)

    edited = edit.apply(request.messages, attributes.get(names.SYSTEM_INSTRUCTIONS_REF), ref_of)
    if edited is None:
        return None
    messages = [native(message) for message in edited.messages]
    changed = messages if messages != list(request.messages) else None
    arguments = build_arguments(changed, edited.system) if build_arguments is not None else None
    if arguments is None:
        raise ReplayDiverged(
            f"what {span.name} asks cannot be edited: the server keeps its conversation, or this API is not known; "
            'say what the model answers instead, {"message": ...}'
        )
    for asked_name, name in ((names.ASKED_MESSAGES_REF, names.INPUT_MESSAGES_REF), _SYSTEM_REFS):
        if name in attributes:
            attributes[asked_name] = attributes[name]
    attributes.pop(names.EXACT_REF, None)
    thread, exact = to.sent_thread_refs(
        messages, request.to_message, request.from_message, span.run.threads, span.frames,
        shape=request.shape, redact=span.redact,
    )  # fmt: skip
    for name, ref in ((names.INPUT_MESSAGES_REF, thread), (names.EXACT_REF, exact)):
        if ref is not None:
            attributes[name] = ref
    if edited.system is not None:
        set_payload(span, names.SYSTEM_INSTRUCTIONS_REF, edited.system)
    set_payload(span, names.EDIT_REF, edited.description)
    return arguments


def _as_it_is(message: JsonValue) -> JsonValue:
    return message


# --- the body that a library sent -------------------------------------------------------------------------------------

_MESSAGE_LISTS = ("messages", "contents", "input")  # of most providers; Gemini; OpenAI's Responses


def note_sent_body(body: Callable[[], Mapping[str, object] | None]) -> None:
    """Notes how to read the body that is being sent for the current model call. The body of a retry or a fallback
    replaces an earlier one."""
    span = current_span()
    if span is not None and span.kind == "llm" and span.inner_model_calls is not None and span.end_ns is None:
        span.sent_body = body


def record_sent_body(span: ObservedSpan) -> None:
    """Records the last noted body, if there is one. Never raises.

    LiteLLM is called with messages in one form, and sends each provider a body in that provider's own. The list of
    messages in it is recorded as a thread, so that the calls of a conversation share it, whatever form the messages
    have. The content of `playhead.sent_ref`:

        {"list": name | null, "body": ref, "messages": ref | null}    name of the list in the body, the other members of
                                                                      the body, and how the messages differ from what
                                                                      their canonical form restores
                                                                      (`playhead.exact_ref`)
    """
    if span.sent_body is None:
        return
    read, span.sent_body = span.sent_body, None
    with guarded("record the body of a model's request"):
        body = read()
        if body is not None and span.run.recorded:
            _record_body(span, body)


def _record_body(span: ObservedSpan, body: Mapping[str, object]) -> None:
    to, frames = span.recorder, span.frames
    name = next((name for name in _MESSAGE_LISTS if _is_list_of_messages(body.get(name))), None)
    rest = to.repeated({key: value for key, value in body.items() if key != name}, frames, span.redact)
    if rest is None:
        return
    thread, sent = to.sent_thread_refs(
        () if name is None else list_of(body[name]), dialect.to_message, dialect.from_message, span.run.threads, frames,
        shape={"list": name, "body": rest}, redact=span.redact,
    )  # fmt: skip
    if sent is not None:
        span.attributes[names.SENT_REF] = sent
    if thread is not None:
        span.attributes[names.SENT_MESSAGES_REF] = thread


def _is_list_of_messages(value: object) -> bool:
    items = list_of(value)
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in items)


# --- calls inside a framework's call ----------------------------------------------------------------------------------

_MARK = otel.create_key("playhead-model-scope")


class InnerCallMark:
    """Tells whether a model call inside a call of a framework's model is recorded. Safe for threads.

    A framework calls its model through a class of its own, which may call a client, which may be instrumented. The
    framework's call begins first, but only the client's call is to be recorded, since the client sees the request as it
    is sent. So the framework's call has a mark, which a model call that is recorded inside sets.
    """

    __slots__ = ("_around", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        """Whether a model call was recorded inside."""
        self._around = _mark_in(otel.get_current())

    @contextmanager
    def current(self) -> Generator[None]:
        """Context in which model calls set this mark, also in tasks and threads that inherit the context."""
        token = otel.attach(Context({**otel.get_current(), _MARK: self}))
        try:
            yield
        finally:
            reset_context(token)

    def set(self) -> None:
        """Notes that a model call inside is recorded. Also sets the marks around this one: a framework's model may call
        another model of a framework."""
        self.is_set = True
        if self._around is not None:
            self._around.set()


def mark_inner_call(where: Context) -> None:
    """Sets the mark in this context, if there is one."""
    if _MARK in where:  # cheap look-up first: most model calls have no framework around them
        mark = _mark_in(where)
        if mark is not None:
            mark.set()


def _mark_in(where: Context) -> InnerCallMark | None:
    mark = where.get(_MARK)
    return mark if isinstance(mark, InnerCallMark) else None
