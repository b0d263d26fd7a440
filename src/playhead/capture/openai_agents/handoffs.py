"""Tracks which agent acts in a run of OpenAI Agents: the first one, then each that takes over.

The span of the run is that of its first agent. An agent that takes over has a span of its own inside, from its first
turn to the next handoff or the end. After a handoff back, the first agent continues in the span of the run.
"""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

from opentelemetry import context as otel

from playhead.api.log_events import log_event_of
from playhead.calls.lifecycle import as_current, detach, enter, fail, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import agent
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.kernel.guard import guarded
from playhead.model import names

_CURRENT_RUN = otel.create_key("playhead-openai-agents-run")


class AgentRun:
    """One call of `Runner.run`.  Its turns follow one another, so it needs no locks."""

    def __init__(self, span: ObservedSpan, first: object):
        """`span` has begun and belongs to the agent `first`."""
        self.span = span
        self._first = self._acting = first
        self._taken_over: ObservedSpan | None = None
        self._has_acted = False

    @contextmanager
    def current(self) -> Generator[None]:
        """Context in which turns belong to this run, also in tasks that are created inside."""
        token = otel.attach(otel.set_value(_CURRENT_RUN, self))
        try:
            yield
        finally:
            otel.detach(token)

    def span_of(self, acting: object) -> ObservedSpan | None:
        """Returns the span of the acting agent; None if that is the run's own span. Never raises."""
        with guarded("see which agent acts"):
            if acting is not self._acting:
                self._switch_agent(acting)
            self._has_acted = True
        return self._taken_over

    def _switch_agent(self, to: object) -> None:
        self._acting, name = to, str(getattr(to, "name", "agent"))
        if self._has_acted:  # else an interrupted run continues with the agent that was active
            log_event_of(self._taken_over or self.span, names.HANDOFF, {names.HANDOFF_TO: name}, {})
        before, self._taken_over = self._taken_over, None
        if before is not None:
            finish(before)
        if to is not self._first:
            self._taken_over = span = agent(name, None)()
            if span is not None:
                enter(span)
                detach(span)

    def finish(self, output: object) -> None:
        """Ends the span of the last agent with its answer."""
        last, self._taken_over = self._taken_over, None
        if last is not None:
            finish(last, names.OUTPUT_REF, output)
        finish(self.span, names.OUTPUT_REF, output)

    def fail(self, raised: BaseException) -> None:
        """Ends the span of the acting agent with an error or cancellation."""
        last, self._taken_over = self._taken_over, None
        if last is not None:
            fail(last, raised)
        fail(self.span, raised)


@intercepted
def agent_turn(function: Callable[..., Awaitable[object]], called: MethodCall) -> Awaitable[object]:
    """Wraps the framework's functions for one agent: a turn, an interrupted turn, the guardrails of its answer."""
    run = otel.get_value(_CURRENT_RUN)
    made = called.make(function)
    acting = _agent_in(called) if isinstance(run, AgentRun) else None
    return made if acting is None or not isinstance(run, AgentRun) else _agent_turn(run, acting, made)


def _agent_in(called: MethodCall) -> object:
    """Returns the user's agent from the arguments: the `public_agent` of `bindings`, or in other versions the agent
    itself."""
    argument: object
    for argument in (*called.args, *called.kwargs.values()):
        public = getattr(argument, "public_agent", None)
        if public is not None:
            return public
    argument = called.kwargs.get("agent", called.args[1] if len(called.args) > 1 else None)
    return argument if hasattr(argument, "handoffs") else None


async def _agent_turn(run: AgentRun, acting: object, made: Awaitable[object]) -> object:
    span = run.span_of(acting)
    if span is None:
        return await made
    with as_current(span):
        return await made
