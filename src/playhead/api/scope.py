"""`run()`, and the functions for use inside a run: state, checkpoints, annotations, handoffs, declared compressions.

Outside a run the functions do nothing, so a library may call them whether or not a run is recorded.

States of checkpoints and values of `run.state` are recorded so that a later process gets them back with their types: as
plain content, with the data to restore the type beside it. They are not cut, whatever their size, since the program
asked for them.
"""

import functools
import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from datetime import timedelta
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

from opentelemetry import context as otel

from playhead.api.log_events import (
    as_text,
    log_event,
    log_event_with_refs,
    log_typed_event,
)
from playhead.api.observe import observe
from playhead.api.recorded_values import kinds_of, record_values
from playhead.calls import runtime
from playhead.calls.begin import begin
from playhead.calls.blocks import BlockEntries, enter_block, leave_block
from playhead.calls.flow import current_flow_or_none, enter_flow, leave_flow
from playhead.calls.lifecycle import current_span, set_payload
from playhead.calls.recorder import FrameList, Recorder, Redact
from playhead.calls.replay import idempotency_key_of
from playhead.calls.run import root_attributes
from playhead.calls.span import ObservedSpan
from playhead.calls.starting import RecordedCheckpoint, StartingPoint, last_run_of_session, starting_point_of
from playhead.dialect.openai_chat import to_message
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.message import message_text
from playhead.model.ref import ContentRef

P = ParamSpec("P")
R = TypeVar("R")


# --- a run ------------------------------------------------------------------------------------------------------------


class UserState(MutableMapping[str, Any]):
    """The run's own state: a dictionary whose changes are recorded as `state_changed`."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self.inside: ObservedSpan | None = None
        """The run's span. Changes by the program's own threads, in which no call is current, are recorded on it."""

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: object) -> None:
        self._values[key] = value
        log_typed_event(names.STATE_CHANGED, {names.STATE_KEY: as_text(key)}, names.VALUE_REF, value, self.inside)

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        log_event(names.STATE_CHANGED, {names.STATE_KEY: as_text(key)}, {}, self.inside)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def fill(self, recorded: Mapping[str, Any]) -> None:
        """Adds recorded values without recording them again."""
        self._values.update(recorded)


class NamedConversation(Protocol):
    """A conversation: the session with its id has its runs."""

    @property
    def id(self) -> str:
        """Its id."""
        ...


class run:  # noqa: N801 - it is used like a function
    """A run around a block: `with playhead.run("support", session="conv-42") as run: ...`; `async with` too.

    Inside another run it is an agent of that run; `session`, `user`, `tags`, `metadata` and `retention` are ignored.
    `run.id` is the run's id (32 hex digits; None when nothing is recorded), `run.state` its state. `record` names the
    values that are recorded besides calls, and replayed when the run is resumed: "clock,random,uuid".

    `continues`: id of another run, from whose last checkpoint this new run begins. `run.checkpoint`, `run.state` and
    `run.history` then come from that run, and the two runs link to each other. Entering the block raises NoRecord if
    there is no record of that run.

    `continue_session`: the same with the run of this session that ended last, if there is one; forks do not count.
    Which one that was is recorded, so that a resumed run continues the same. Raises ValueError without a session.

    `conversation`: a conversation (see `playhead.conversation`) whose run this is: its id is the session, unless that
    is given too. Raises TypeError for anything else.

    `retention`: how long the journal keeps the runs of this session (without one, this run) after they were delivered
    and have ended: seconds or a timedelta, an hour to 30 days.  The default is `PLAYHEAD_JOURNAL_KEEP_SECONDS`.
    """

    def __init__(
        self,
        name: str = "run",
        *,
        session: str | None = None,
        conversation: NamedConversation | None = None,
        user: str | None = None,
        tags: list[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        redact: Redact | None = None,
        record: str | Iterable[str] | None = None,
        continues: str | None = None,
        continue_session: bool = False,
        retention: float | timedelta | None = None,
    ):
        self.name = as_text(name)
        self._continues = continues
        self._start: StartingPoint | None = None
        self.state = UserState()
        self.id: str | None = None
        if conversation is not None and not hasattr(conversation, "id"):
            given = type(conversation).__name__
            raise TypeError(
                f"run(conversation=...): expected what playhead.conversation(...) returned, and got {given}"
            )
        if session is None and conversation is not None:
            session = conversation.id
        if continue_session and (session is None or continues is not None):
            raise ValueError("run(continue_session=True) needs session=..., and no continues=...")
        self._session = as_text(session) if continue_session else None
        self._root = root_attributes(session, user, tags, retention)
        self._metadata = metadata
        self._redact = redact
        self._record = kinds_of(record) if record is not None else None
        self._entered = BlockEntries()

    def __enter__(self) -> Self:
        """Begins the run."""
        self._enter()
        return self

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        """Ends the run. Records an exception that left the block, and lets it propagate."""
        self._leave(raised)

    async def __aenter__(self) -> Self:
        """The same as `__enter__`."""
        self._enter()
        return self

    async def __aexit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        """The same as `__exit__`."""
        self._leave(raised)

    def _enter(self) -> None:
        if self._entered.refuse_second(self.name):
            return
        root, continued = self._root, None
        if self._continues is not None:
            continued = starting_point_of(self._continues)
            root = {**root, names.CONTINUES: continued.run_id}
        span = begin("agent", self.name, root=root, redact=self._redact)
        self.state.inside = span
        self._start = continued or (span.run.start if span is not None else None)
        if continued is not None:
            self.state.fill(continued.state)
        if span is not None and span.run.recorded:
            self.id = span.run.id
            if self._metadata is not None and names.RUN_ROOT in span.attributes:
                set_payload(span, names.RUN_METADATA_REF, self._metadata)
            if self._record is not None:
                record_values(span, self._record)
        enter_block(self._entered, span)
        if continued is not None and span is not None and names.CONTINUES in span.attributes:
            _link_runs(span, continued)
        if self._session is not None and span is not None and names.RUN_ROOT in span.attributes:
            try:
                self._continue_session(span, self._session)
            except BaseException as error:
                self._leave(error)
                raise

    def _continue_session(self, span: ObservedSpan, session: str) -> None:
        def last_run(session: str) -> str | None:
            return last_run_of_session(session, span.run.id)

        last = observe("session.last_run", kind="step", replay=True)(last_run)(session)
        if last is not None:
            self._start = starting_point_of(last)
            self.state.fill(self._start.state)
            _link_runs(span, self._start)

    @property
    def checkpoint(self) -> RecordedCheckpoint | None:
        """The last checkpoint of the run that is resumed or forked here, or that this run continues; None if there is
        none.

        Reading it in a resumed program makes the run start there: `run.state` is as it was at the checkpoint, and calls
        recorded before it are not expected again. A program that does not read it is replayed from the beginning.
        """
        if self._start is None:
            return None
        recorded_checkpoint = self._start.begin_here()
        if recorded_checkpoint is not None and self._continues is None:
            self.state.fill(self._start.state)
        return recorded_checkpoint

    @property
    def history(self) -> list[dict[str, Any]]:
        """Messages of the last model call of the run that is resumed or forked here, or that this run continues, with
        the answer, in the form of OpenAI's Chat Completions. Empty for a new run. Raises CannotRestore."""
        return self._start.history if self._start is not None else []

    def _leave(self, raised: BaseException | None) -> None:
        span = leave_block(self._entered, raised)
        if self.state.inside is span:
            self.state.inside = None

    def input(self, value: object) -> None:
        """Records the task of the run."""
        self._set_payload(names.INPUT_REF, value)

    def output(self, value: object) -> None:
        """Records the result of the run."""
        self._set_payload(names.OUTPUT_REF, value)

    def _set_payload(self, name: str, value: object) -> None:
        span = self._entered.current()
        if span is not None and span.run.recorded:
            set_payload(span, name, value)


def _link_runs(span: ObservedSpan, continued: StartingPoint) -> None:
    """Records in the continued run that the run of `span` continues it."""
    with guarded("link two runs"):
        to, ids = runtime.recorder(), continued.root
        if to is None or ids is None or not span.run.recorded or span.run.replay is not None:
            return
        frames = to.frames()
        frames.new = {}
        attributes = {names.RUN_ID: continued.run_id, names.CONTINUES: span.run.id}
        to.log(names.CONTINUED, (time.time_ns(), *ids, attributes), frames)


# --- inside a run -----------------------------------------------------------------------------------------------------


def current_run_id() -> str | None:
    """Returns the id of the current run (32 hex digits), e.g. for log lines; None outside a run."""
    span = current_span()
    return span.run.id if span is not None else None


def idempotency_key() -> str | None:
    """Returns a key (32 hex digits) of the current call that is the same in all attempts of its run, for tools to pass
    on. None outside a run.

    A fork is another run, so its calls have other keys. In a process that was handed a part of the run, the key holds
    for this execution only.
    """
    span = current_span()
    if span is None:
        return None
    return idempotency_key_of(span.run.id, span.attributes)


def checkpoint(state: object = None, *, name: str | None = None) -> None:
    """Records a state from which the run can be resumed. It is in the journal when this returns, for any durability.

    `state` is any JSON value, dataclass or pydantic model; a later process finds it, with its type, as
    `run.checkpoint.state`. A state that cannot be restored is recorded, too, with one warning that says why.
    """
    label = "" if name is None else as_text(name)
    attributes = {names.CHECKPOINT_NAME: label} if label else {}
    log_typed_event(names.CHECKPOINT, attributes, names.STATE_REF, state, None)


def annotate(
    *,
    decision: object = None,
    reason: str | None = None,
    alternatives: list[Any] | None = None,
    plan: object = None,
    **more: object,
) -> None:
    """Records a decision of the code: what was chosen, why, and the alternatives.

    `plan` is a list of steps from here on, each a text or an object such as `{"text": ...}`. It becomes an event of
    its own (`plan_created`) and replaces the plan before.
    """
    if plan is not None:
        log_event(names.PLAN, {}, {names.PLAN_REF: plan})
    annotation = {"decision": decision, "reason": reason, "alternatives": alternatives, **more}
    annotation = {key: item for key, item in annotation.items() if item is not None}
    if annotation or plan is None:
        log_event(names.ANNOTATION, {}, {names.ANNOTATION_REF: annotation})


def handoff(to: str, *, reason: str | None = None) -> None:
    """Records that another agent acts from here on."""
    log_event(names.HANDOFF, {names.HANDOFF_TO: as_text(to)}, {names.REASON_REF: reason} if reason is not None else {})


def propagate_to_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Returns the function bound to the current run: for threads and executors, which do not inherit it.

    `executor.submit(playhead.propagate_to_thread(work), item)`.  A coroutine function's coroutine is bound, too.
    """
    where, flow = otel.get_current(), current_flow_or_none()

    async def awaited(*args: object, **kwargs: object) -> Any:
        token, before = otel.attach(where), enter_flow(flow)
        try:
            return await cast(Any, function)(*args, **kwargs)
        finally:
            leave_flow(before)
            otel.detach(token)

    def propagated(*args: P.args, **kwargs: P.kwargs) -> R:
        token, before = otel.attach(where), enter_flow(flow)
        try:
            return function(*args, **kwargs)
        finally:
            leave_flow(before)
            otel.detach(token)

    bound = cast(Callable[P, R], awaited) if inspect.iscoroutinefunction(function) else propagated
    return functools.update_wrapper(bound, function)


# --- declared compressions --------------------------------------------------------------------------------------------


def compressed(
    *, before: Iterable[Any], after: Iterable[Any], summary: object = None, strategy: str | None = None
) -> None:
    """Records that the program compressed its context: the messages before and after.

    `before` and `after` are messages as in a Chat Completions request. `summary` is the message (or its text) that
    replaces the removed ones, None when they were dropped. `strategy` names the method in a word, e.g.
    `sliding_window`.
    """
    attributes = {names.COMPRESSION_STRATEGY: as_text(strategy)} if strategy is not None else {}
    span = current_span()
    if span is not None:
        log_event_with_refs(
            span,
            names.COMPRESSED,
            attributes,
            lambda to, frames: compression_refs(to, frames, span, before, after, summary),
        )


def compression_refs(
    to: Recorder, frames: FrameList, span: ObservedSpan, before: Iterable[Any], after: Iterable[Any], summary: object
) -> dict[str, ContentRef | None]:
    """Returns the refs for the log event `playhead.compressed`.

    Both threads extend the run's known threads: messages of earlier model calls are not hashed again here, nor are
    these messages in the next call.
    """
    threads, redact = span.run.threads, span.redact
    messages_after = list(after)
    message = _summary_message(summary, messages_after)
    return {
        names.COMPRESSION_BEFORE_REF: to.native_thread_ref(list(before), to_message, threads, frames, redact),
        names.COMPRESSION_AFTER_REF: to.native_thread_ref(messages_after, to_message, threads, frames, redact),
        names.COMPRESSION_SUMMARY_REF: message and to.native_message_ref(message, to_message, frames, redact),
    }


def _summary_message(summary: object, messages: Sequence[Any]) -> Any:
    """Returns the summary as a message. For a text: the first of `messages` that contains it, else a new message; None
    for an empty text."""
    if not isinstance(summary, str):
        return summary
    matching = (message for message in messages if summary and summary in _message_text(message))
    return next(matching, {"role": "user", "content": summary} if summary else None)


def _message_text(message: object) -> str:
    if isinstance(message, Mapping):
        return message_text(to_message(cast(Mapping[str, Any], message)))
    content = getattr(message, "content", None)  # a provider's own object
    return content if isinstance(content, str) else ""
