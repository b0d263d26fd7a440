"""Answers about calls: what they were given, what came of them, and the spans that say so."""

from typing import Any, NotRequired, TypedDict


class CallError(TypedDict):
    """What a call raised."""

    type: str
    message: str


class Call(TypedDict):
    """A call, from its start at `seq` to its end at `ended_seq`; `status` is open, completed or failed."""

    seq: int
    event: str
    ended_seq: int | None
    span: str | None
    actor: str | None
    time: str
    status: str
    outcome: str | None
    elapsed_ms: float | None
    error: CallError | None
    refs: dict[str, str]
    values: NotRequired[dict[str, Any]]
    missing: NotRequired[list[str]]


class ToolCall(Call):
    """A tool call; its refs are `arguments` and `result`.  `call_id` is the model's name for the request."""

    name: str
    call_id: str | None


class LlmCall(Call):
    """A model call.

    `refs.thread` is what the model was given, `refs.output_thread` what it answered.  `usage` holds only what the
    provider reported; `messages` is the length of the thread.
    """

    model: str | None
    provider: str | None
    operation: str | None
    stream: bool
    messages: int | None
    first_chunk_ms: float | None
    finish_reasons: list[str]
    usage: dict[str, int]


class ContextAt(TypedDict):
    """Exactly what the model saw at a call.

    `messages` as they were sent, in the parts form or, on `form=openai`, as that provider's API takes them; `settings`
    is the rest of the request.  `input` is what an observed function that is a model call was given instead of
    messages.  `request`, with `exact=true`, is the request's body as it was sent.  `context_tokens` is what the
    provider counted.  `missing`: refs not stored (their places hold null).
    """

    run: str
    call: LlmCall
    form: str
    thread: str | None
    system: Any
    tools: Any
    messages: list[Any]
    settings: Any
    input: Any
    context_tokens: int | None
    missing: list[str]
    request: NotRequired[Any]


class Removal(TypedDict):
    """The compression (`seq`) that took a message out of its context, and `how`: `summarised` or `dropped`."""

    seq: int
    how: str


class HistoryEntry(TypedDict):
    """A message that entered the run at `seq`, who said it, and the model call (`call`, a seq) that it belongs to.

    `source` is `input` (given to the call) or `output` (said by the model).  `tokens` rest on `tokens_basis`: reported,
    calibrated or estimated.  `maker` is the model call or tool call (a seq) that made it, if one did, and `elapsed_ms`
    how long that took.  `in_context` says whether the message still was in its agent's context at the moment that was
    asked for; one that a compression took out names it in `removed`.  `value` is the message itself: absent on
    `hydrate=false`, null when it is not stored.
    """

    seq: int
    event: str
    time: str
    role: str
    source: str
    actor: str | None
    model: str | None
    span: str | None
    call: int | None
    maker: int | None
    elapsed_ms: float | None
    tokens: int | None
    tokens_basis: str | None
    in_context: bool
    removed: Removal | None
    message: str | None
    value: NotRequired[dict[str, Any] | None]


class TraceSpan(TypedDict):
    """A span as stored, payload-free.  Spans come in tree order: each after its parent, `depth` levels below a root.

    `parent` may name a span that is not of this run: a web framework's, or one that has not arrived.
    """

    trace: str
    span: str
    parent: str | None
    depth: int
    name: str
    kind: str | None
    start: str
    end: str | None
    elapsed_ms: float | None
    status: str
    status_message: str
    attributes: dict[str, Any]
    events: list[dict[str, Any]]
    links: list[dict[str, Any]]
    scope: str
    resource: dict[str, Any]
