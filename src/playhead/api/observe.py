"""`@observe`: a decorator for any callable, and a context manager for a block."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Self, TypeVar, cast, overload

from playhead.api.promises.asking import ToolRule, approved_first, needs_rule, rule_or_always
from playhead.api.recorded_values import kinds_of, record_values
from playhead.calls.begin import begin
from playhead.calls.blocks import BlockEntries, enter_block, leave_block
from playhead.calls.lifecycle import set_payload
from playhead.calls.recorder import Redact
from playhead.calls.requested_tools import drop_requested_call, pop_requested_call
from playhead.calls.run import root_attributes
from playhead.calls.span import ObservedSpan
from playhead.calls.steps import Steps
from playhead.kernel.forks import delay_forks
from playhead.kernel.guard import guarded, log_internal_error, warn_once
from playhead.model import names
from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.model.objects.plain_forms import safe_repr

F = TypeVar("F", bound=Callable[..., Any])


@overload
def observe(function: F, /) -> F: ...
@overload
def observe(
    label: str | None = None,
    /,
    *,
    name: str | None = None,
    kind: names.CallKind | None = None,
    capture_input: bool = True,
    capture_output: bool = True,
    redact: Redact | None = None,
    replay: bool = False,
    idempotent: bool = False,
    session: str | None = None,
    user: str | None = None,
    tags: list[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    record: str | Iterable[str] | None = None,
    approval: ToolRule | None = None,
    retention: float | timedelta | None = None,
) -> "ObserveOptions": ...
def observe(
    target: Any = None,
    /,
    *,
    name: str | None = None,
    kind: names.CallKind | None = None,
    capture_input: bool = True,
    capture_output: bool = True,
    redact: Redact | None = None,
    replay: bool = False,
    idempotent: bool = False,
    session: str | None = None,
    user: str | None = None,
    tags: list[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    record: str | Iterable[str] | None = None,
    approval: ToolRule | None = None,
    retention: float | timedelta | None = None,
) -> Any:
    """Records a call: name, arguments, result, error, nesting.  A run begins at the outermost observed call.

    Use it bare (`@observe`), with options (`@observe(kind="tool")`), or for a block (`with observe("parse"):`).  Works
    on functions, methods, coroutines, generators and asynchronous generators, and changes nothing about them.  On a
    class it observes the public methods that its body defines, with the same options, as `Class.method`.

    `kind` is one of agent, llm, tool, retriever, embedding, guardrail, step (default; for a run's outermost call,
    agent). When a run is resumed or forked, calls of kind llm, tool, retriever and embedding are answered from the
    record, and so is any call with `replay=True`; a tool with `idempotent=True` may be executed twice. `redact` is
    called with the arguments and with the result, and returns what may be recorded. `session`, `user`, `tags` and
    `metadata` describe the run, if one begins here; `record` ("clock,random,uuid") names what it records besides calls;
    `retention` is how long the journal keeps its session (see `playhead.run`).
    Errors of the recording are never raised into the program; an unknown kind counts as step, with one warning.

    `approval`, for a tool: "always", or a function of its name and arguments that returns whether a person has to
    approve before it runs ("none": never, whatever `configure(approval=...)` says). A refused call raises Denied.
    """
    label = target if isinstance(target, str) else name
    if kind is not None and kind not in names.KINDS:
        expected, text = ", ".join(names.KINDS), safe_repr(kind)
        warn_once(f"kind {text}", f"observe(kind={text}): expected one of {expected}; recorded as a step")
        kind = "step"
    more = {names.REPLAYABLE: replay, names.IDEMPOTENT: idempotent}
    observation = ObserveOptions(
        label, kind, capture_input, capture_output, redact, root_attributes(session, user, tags, retention), metadata
    )
    observation.attributes = {name: True for name, on in more.items() if on}
    observation.record = None if record is None else kinds_of(record)
    observation.approval = None if approval is None else rule_or_always(approval)
    return observation if target is None or isinstance(target, str) else observation(target)


class ObserveOptions:
    """Result of `observe(...)` with options: a decorator, or a context manager for a block."""

    def __init__(
        self,
        name: str | None,
        kind: str | None,
        capture_input: bool,
        capture_output: bool,
        redact: Redact | None,
        root: dict[str, Any],
        metadata: Mapping[str, Any] | None,
    ):
        self.name = name
        self.kind = kind
        self.capture_input = capture_input
        self.capture_output = capture_output
        self.redact = redact
        self.root = root
        self.metadata = metadata
        self.attributes: dict[str, Any] = {}
        self.record: frozenset[str] | None = None
        self.approval: ToolRule | None = None
        self._entered = BlockEntries()

    def __call__(self, function: F) -> F:
        """Returns the observed function, or the class with its public methods observed. After an internal error,
        returns the function unchanged."""
        with guarded("observe a function"):
            target: Any = function
            with delay_forks():
                # These import wrapt, which imports asyncio, ssl and more: only decorators need them.
                from playhead.api import methods  # noqa: PLC0415 - see above
                from playhead.calls import proxy  # noqa: PLC0415 - see above
            if isinstance(target, type):
                methods.observe_methods(cast("type[Any]", target), self)
                return function
            return proxy.observed(function, self)
        return function

    def __enter__(self) -> Self:
        """Begins a block."""
        self._enter()
        return self

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        """Ends the block. Records an exception that left it, and lets it propagate."""
        self._leave(raised)

    async def __aenter__(self) -> Self:
        """The same as `__enter__`."""
        self._enter()
        return self

    async def __aexit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        """The same as `__exit__`."""
        self._leave(raised)

    def _enter(self) -> None:
        name = self.name or "block"
        if not self._entered.refuse_second(name):
            enter_block(self._entered, self.begin(name, None, {}))

    def _leave(self, raised: BaseException | None) -> None:
        leave_block(self._entered, raised)

    def output(self, value: object) -> None:
        """Records the result of the block."""
        span = self._entered.current()
        if span is not None and self.capture_output and span.run.recorded:
            set_payload(span, self.output_name(span.kind), value)

    def begin(self, name: str, arguments: Mapping[str, Any] | None, attributes: dict[str, Any]) -> ObservedSpan | None:
        """Creates the span of one call; None: the call is not recorded."""
        if self.attributes:
            attributes = {**attributes, **self.attributes}
        span = begin(self.kind, name, attributes=attributes, redact=self.redact, root=self.root)
        if span is not None and span.run.recorded:
            try:
                self._describe(span, name, arguments)
            except BaseException as error:  # noqa: BLE001 - a `guarded` block would take 2 % of the call
                reraise_if_for_program(error)
                log_internal_error("describe %r", error, name)
        return span

    def _describe(self, span: ObservedSpan, name: str, arguments: Mapping[str, Any] | None) -> None:
        if self.metadata is not None and names.RUN_ROOT in span.attributes:
            set_payload(span, names.RUN_METADATA_REF, self.metadata)
        if self.record is not None:
            record_values(span, self.record)
        if arguments is not None:
            tool = span.kind == "tool"
            if tool and span.run.requested:
                _match_request(span, name, arguments)
            if self.capture_input:
                set_payload(span, names.TOOL_ARGUMENTS_REF if tool else names.INPUT_REF, arguments)

    def approve(self, name: str, arguments: Callable[[], dict[str, Any]]) -> Steps[None] | None:
        """Returns the steps that wait until a person approves this call, if a rule asks for that. None: this is not a
        tool, or there is no rule."""
        if self.kind != "tool" or not needs_rule(self.approval):
            return None
        return approved_first(self.approval, name, arguments(), idempotent=names.IDEMPOTENT in self.attributes)

    def output_name(self, kind: str) -> str:
        """Returns the name of the attribute for the result of a call of this kind."""
        return names.TOOL_RESULT_REF if kind == "tool" else names.OUTPUT_REF


def _match_request(span: ObservedSpan, name: str, arguments: Mapping[str, Any]) -> None:
    known_id = span.attributes.get(names.TOOL_CALL_ID)
    for requested in dict.fromkeys((name, name.rpartition(".")[2])):  # a method `Shop.refund` is `refund` to a model
        if known_id is not None:
            drop_requested_call(span.run, requested, known_id)
        elif (call_id := pop_requested_call(span.run, requested, arguments)) is not None:
            span.attributes[names.TOOL_CALL_ID] = call_id
            return
