"""Google's Agent Development Kit: agents and transfers between them.  Models run on instrumented clients.

A runner's call is the run of its root agent, which has the span of the run.  Every other agent, a sub-agent or one that
the root agent transfers to, has a span of its own inside.
"""

from typing import Any

from playhead.api.scope import log_event_of
from playhead.calls.functions import NO_RESULT, EventReader, iterate_async
from playhead.calls.lifecycle import current_span
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks import Begin, agent, none_on_error, recorded_result
from playhead.capture.google_adk.tools import TOOLS
from playhead.capture.patching import Instrumentation, Wrap
from playhead.model import names

SUPPORTS = "google-adk >= 2.0"


@none_on_error
def _run(instance: Any, _: Any, kwargs: Any) -> "tuple[Begin, EventReader]":
    name = str(getattr(instance.agent, "name", None) or instance.app_name)
    return _observed(name, kwargs.get("new_message"), kwargs.get("session_id"))


@none_on_error
def _agent(instance: Any, args: Any, kwargs: Any) -> "tuple[Begin, EventReader] | None":
    name, around = str(instance.name), current_span()
    if around is not None and around.kind == "agent" and around.attributes.get(names.AGENT_NAME) == name:
        return None  # the root agent, whose run this is
    context: Any = args[0] if args else kwargs["parent_context"]
    return _observed(name, context.user_content, context.session.id)


def _observed(name: str, user_content: Any, session: Any) -> "tuple[Begin, EventReader]":
    begin = agent(name, _text(user_content), session=session)
    reader = EventReader(lambda span, event: _result(span, event, name), lambda _: [])  # no agent has a recorded answer
    return begin, reader


def _result(span: ObservedSpan, event: Any, name: str) -> Any:
    answer = _read_event(span, event, name)
    return NO_RESULT if answer is None else answer


@none_on_error
def _read_event(span: ObservedSpan, event: Any, name: str) -> Any:
    """Records a transfer by this agent.  Returns the text of a final answer, else None.  Events of inner agents pass
    here, too."""
    to = event.actions.transfer_to_agent
    if to and event.author == name:
        log_event_of(span, names.HANDOFF, {names.HANDOFF_TO: str(to)}, {})
    return _text(event.content) if event.is_final_response() else None


def _text(content: Any) -> str | None:
    texts = [part.text for part in getattr(content, "parts", None) or () if part.text and not part.thought]
    return "".join(texts) if texts else None


def _stream_agent(begin_and_reader: "tuple[Begin, EventReader]", events: Any) -> Any:
    begin, reader = begin_and_reader
    return iterate_async(begin, names.OUTPUT_REF, events, reader)


_google_adk = Instrumentation(
    [
        Wrap("google.adk.runners", "Runner.run_async", recorded_result(_run, _stream_agent)),
        Wrap("google.adk.agents.base_agent", "BaseAgent.run_async", recorded_result(_agent, _stream_agent)),
        *TOOLS,
    ]
)
patch, unpatch = _google_adk.patch, _google_adk.unpatch
