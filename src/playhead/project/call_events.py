"""store → [project]: the events of one call, at its start and at its end.

| call | at its start | at its end |
|---|---|---|
| the run's root | run_started; of a fork run_forked, ends of calls that it took over | run_completed or run_failed |
| llm | context_compressed, message_added, llm_called | llm_completed or llm_failed, message_added |
| tool | tool_called | tool_completed or tool_failed |
| every other kind | step_started | step_completed |

A root that is an llm or tool call gives both; any other root is told by the run's own events.  A later attempt that
does not say where it begins (`log_events`) begins with its root.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from playhead.model import event as ev
from playhead.model import names
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent
from playhead.model.thread import ThreadNode
from playhead.project.attributes import (
    agent_name,
    answer_tokens,
    attempt_of,
    elapsed_ms,
    failure_fields,
    failure_of,
    has_failed,
    model_of,
    number,
    order_of,
    ref,
    text,
    texts,
    tool_name,
    usage_of,
    whole,
)
from playhead.project.context.compression_events import declared, inferred
from playhead.project.context.conversations import Conversations, Entered
from playhead.project.context.known_messages import Known
from playhead.project.forking import Shared, take_over
from playhead.project.log_events import attempts_in, log_event, log_kind
from playhead.project.order import END, START, Moment
from playhead.project.span_tree import Place, Tree


@dataclass(frozen=True, slots=True)
class Begun:
    """What was written when a call began, and what its input added."""

    events: list[ev.RunEvent]
    entered: Entered


class EventWriter:
    """Writes a run's events in order, each with the next seq."""

    def __init__(
        self,
        run: str,
        tree: Tree,
        nodes: Mapping[ContentRef, ThreadNode],
        known: Known,
        logs: Iterable[LogEvent] = (),
        shared: Shared | None = None,
    ) -> None:
        self.events: list[ev.RunEvent] = []
        self._shared = shared or Shared(0)
        self._resumed = attempts_in(logs)
        self._run = run
        self._tree = tree
        self._known = known
        self.conversations = Conversations(nodes, known)
        self._next = self._shared.upto + 1
        # What was written at the start of calls that have not ended.
        self.begun: dict[str, Begun] = {}
        # The thread that each agent's model saw last.
        self._threads: dict[str | None, ContentRef] = {}
        # How many log records of a span have had the same name and time.
        self._alike: Counter[tuple[str | None, str]] = Counter()
        # Outputs that calls inside a model call brought (two instrumentations of one call), by the outer call's span.
        self._inner_outputs: dict[str, Counter[ContentRef]] = {}
        take_over(self.conversations, self._shared.events)
        for event in self._shared.events:
            if isinstance(event, ev.LlmCalled) and event.thread is not None:
                self._threads[event.actor] = event.thread

    def write(self, moment: Moment) -> None:
        """Adds what happened at this moment.  Raises Unread, having changed nothing."""
        place = moment.place
        if moment.log is not None:
            self._say(moment.log, place)
        elif place is not None and moment.what == START:
            self._start(place)
        elif place is not None and moment.what == END:
            self.begun.pop(place.span.span_id, None)
            self._end(place)

    def take(self) -> list[ev.RunEvent]:
        """The events since the last time."""
        taken, self.events = self.events, []
        self._next += len(taken)
        return taken

    def again(self, place: Place) -> list[tuple[ev.RunEvent, ev.RunEvent]]:
        """A call that had begun has ended, and says more than it did: events of its start that are others now, each
        as (as it was, as it is)."""
        begun = self.begun[place.span.span_id]
        kept, after = self.events, self._next
        self.events, self._next = [], begun.events[0].seq if begun.events else after
        if place.root and place is self._tree.roots[0]:
            self.events.append(self._run_started(place))
        elif place.kind == "llm":
            self._asked(place, begun.entered)
        elif not place.root:
            self._start(place)
        again, self.events, self._next = self.events, kept, after
        return [(old, new) for old, new in zip(begun.events, again, strict=False) if old != new]

    # --- starts ----------------------------------------------------------------------------------------------------

    def _start(self, place: Place) -> None:
        before, entered = len(self.events), Entered()
        if place.root:
            self._begin_run(place)
        if place.kind == "llm":
            entered = self._call_model(place)
        elif place.kind == "tool":
            attributes = place.span.attributes
            self.events.append(
                ev.ToolCalled(
                    **self._at_start(place, "tool_called"),
                    name=tool_name(place.span),
                    call_id=text(attributes, names.TOOL_CALL_ID),
                    arguments=ref(attributes, names.TOOL_ARGUMENTS_REF) or ref(attributes, names.INPUT_REF),
                )
            )
        elif place.kind is not None and not place.root:
            self.events.append(
                ev.StepStarted(
                    **self._at_start(place, "step_started"),
                    name=place.step_name,
                    step_kind=place.kind,
                    input=ref(place.span.attributes, names.INPUT_REF),
                )
            )
        if place.span.end_ns is None:
            self.begun[place.span.span_id] = Begun(self.events[before:], entered)

    def _run_started(self, place: Place) -> ev.RunEvent:
        attributes = place.span.attributes
        return ev.RunStarted(
            **self._at_start(place, "run_started"),
            name=text(attributes, names.RUN_NAME) or agent_name(place.span, place.kind) or place.span.name,
            attempt=self._first_attempt(place),
            session=text(attributes, names.CONVERSATION),
            user=text(attributes, names.USER),
            tags=texts(attributes, names.RUN_TAGS),
            input=ref(attributes, names.INPUT_REF),
            metadata=ref(attributes, names.RUN_METADATA_REF),
        )

    def _begin_run(self, place: Place) -> None:
        attributes = place.span.attributes
        if place is self._tree.roots[0]:
            self.events.append(self._run_started(place))
        if place.attempt > 0 and place.attempt not in self._resumed:
            self._resume(self._at_start(place, "run_resumed"), place.attempt)
        parent = text(attributes, names.FORK_OF)
        if parent is not None and place is self._tree.roots[0]:
            self._part(place, parent)

    def _first_attempt(self, place: Place) -> int:
        """A root that a later attempt went on with has that one's number."""
        later = [attempt for attempt, order in self._resumed.items() if order > (place.order or 0)]
        return min([place.attempt, *(attempt - 1 for attempt in later)])

    def _resume(self, head: dict[str, Any], attempt: int) -> None:
        """What the record has is not told again: all that follows is what went live."""
        self.conversations.interrupt()
        self.events.append(ev.RunResumed(**head, attempt=attempt, from_seq=head["seq"] - 1))

    def _part(self, place: Place, parent: str) -> None:
        at = self._shared.upto + 1 if self._shared.upto else whole(place.span.attributes, names.FORK_AT)
        self.events.append(ev.RunForked(**self._at_start(place, "run_forked"), parent_run=parent, at=at))
        self.conversations.interrupt()
        for end in self._shared.ends:
            if isinstance(end, ev.LlmCompleted | ev.LlmFailed):
                self.conversations.leave(end.span or "", end.thread)
            self.events.append(replace(end, run=self._run, seq=self._next_seq(), late=False))

    def _call_model(self, place: Place) -> Entered:
        attributes = place.span.attributes
        thread, tokens = ref(attributes, names.INPUT_MESSAGES_REF), whole(attributes, names.INPUT_TOKENS)
        if thread is not None:
            self._threads[place.actor] = thread
        entered = self.conversations.enter(place.span.span_id, place.actor, thread, tokens)
        self._asked(place, entered)
        return entered

    def _asked(self, place: Place, entered: Entered) -> None:
        attributes = place.span.attributes
        thread, tokens = ref(attributes, names.INPUT_MESSAGES_REF), whole(attributes, names.INPUT_TOKENS)
        if entered.cut is not None:
            self.events.append(inferred(self._at_start(place, "context_compressed"), entered.cut, thread, tokens))
        for node in entered.new:
            role = self._known.role(node.message, "user")
            head = self._at_start(place, "message_added", node.depth)
            self.events.append(ev.MessageAdded(**head, role=role, message=node.message))
        self.events.append(
            ev.LlmCalled(
                **self._at_start(place, "llm_called"),
                model=model_of(attributes),
                provider=text(attributes, names.PROVIDER) or text(attributes, names.SYSTEM),
                operation=text(attributes, names.OPERATION),
                stream=attributes.get(names.REQUEST_STREAM) is True,
                messages=self.conversations.length(thread),
                thread=thread,
                system=ref(attributes, names.SYSTEM_INSTRUCTIONS_REF),
                tools=ref(attributes, names.TOOL_DEFINITIONS_REF),
                request=ref(attributes, names.REQUEST_REF),
                exact=ref(attributes, names.EXACT_REF),
                input=ref(attributes, names.INPUT_REF),
            )
        )

    # --- ends ------------------------------------------------------------------------------------------------------

    def _end(self, place: Place) -> None:
        if place.kind == "llm":
            self._model_answers(place)
        elif place.kind == "tool":
            self.events.append(self._tool_end(place))
        elif place.kind is not None and not place.root:
            self.events.append(self._step_end(place))
        if place.ends_run:
            self.events.append(self._run_end(place))

    def _model_answers(self, place: Place) -> None:
        span, attributes = place.span, place.span.attributes
        thread = ref(attributes, names.OUTPUT_MESSAGES_REF)
        model = text(attributes, names.RESPONSE_MODEL) or model_of(attributes)
        if has_failed(span):
            head = self._at_end(place, "llm_failed")
            self.events.append(ev.LlmFailed(**head, **failure_fields(span), model=model, thread=thread))
        else:
            first_chunk = number(attributes, names.TIME_TO_FIRST_CHUNK)
            self.events.append(
                ev.LlmCompleted(
                    **self._at_end(place, "llm_completed"),
                    model=model,
                    usage=usage_of(attributes),
                    finish_reasons=texts(attributes, names.FINISH_REASONS),
                    elapsed_ms=elapsed_ms(span),
                    first_chunk_ms=None if first_chunk is None else round(first_chunk * 1000, 3),
                    outcome=text(attributes, names.OUTCOME),
                    thread=thread,
                    response=ref(attributes, names.RESPONSE_REF),
                    reasoning=ref(attributes, names.REASONING_REF),
                    output=ref(attributes, names.OUTPUT_REF),
                )
            )
        self._add_output(place, thread)

    def _add_output(self, place: Place, thread: ContentRef | None) -> None:
        """Output messages; also the part of one that came before a call failed or was closed."""
        inner = self._inner_outputs.pop(place.span.span_id, None)
        added = list(self.conversations.leave(place.span.span_id, thread))
        tokens = answer_tokens(place.span.attributes) if len(added) == 1 else None
        for node in added:
            if place.call is not None:
                self._inner_outputs.setdefault(place.call.span.span_id, Counter())[node.message] += 1
            if inner is not None and inner[node.message] > 0:
                inner[node.message] -= 1
                continue
            head = self._at_end(place, "message_added", f"out{node.depth}")
            role = self._known.role(node.message, "assistant")
            self.events.append(ev.MessageAdded(**head, role=role, source="output", tokens=tokens, message=node.message))

    def _tool_end(self, place: Place) -> ev.RunEvent:
        span, attributes = place.span, place.span.attributes
        named: dict[str, Any] = {"name": tool_name(span), "call_id": text(attributes, names.TOOL_CALL_ID)}
        if has_failed(span):
            return ev.ToolFailed(**self._at_end(place, "tool_failed"), **named, **failure_fields(span))
        return ev.ToolCompleted(
            **self._at_end(place, "tool_completed"),
            **named,
            elapsed_ms=elapsed_ms(span),
            outcome=text(attributes, names.OUTCOME),
            result=ref(attributes, names.TOOL_RESULT_REF) or ref(attributes, names.OUTPUT_REF),
        )

    def _step_end(self, place: Place) -> ev.RunEvent:
        span = place.span
        error_type, message = failure_of(span) if has_failed(span) else (None, None)
        return ev.StepCompleted(
            **self._at_end(place, "step_completed"),
            name=place.step_name,
            step_kind=place.kind or "step",
            elapsed_ms=elapsed_ms(span),
            error_type=error_type,
            message=message,
            outcome=text(span.attributes, names.OUTCOME),
            output=ref(span.attributes, names.OUTPUT_REF),
        )

    def _run_end(self, place: Place) -> ev.RunEvent:
        span = place.span
        if has_failed(span):
            return ev.RunFailed(**self._at_end(place, "run_failed"), **failure_fields(span))
        return ev.RunCompleted(
            **self._at_end(place, "run_completed"),
            elapsed_ms=elapsed_ms(span, place.run_began_ns),
            outcome=text(span.attributes, names.OUTCOME),
            output=ref(span.attributes, names.OUTPUT_REF),
        )

    # --- log records -----------------------------------------------------------------------------------------------

    def _say(self, log: LogEvent, place: Place | None) -> None:
        """A log record has no id: what tells it from others in its span is its number, else its time."""
        kind, ordinal = log_kind(log), str(order_of(log.attributes) or log.time_ns)
        alike = (log.span_id, f"{kind}.{ordinal}")
        self._alike[alike] += 1
        if self._alike[alike] > 1:
            ordinal = f"{ordinal}-{self._alike[alike]}"
        actor = place.actor if place else self._tree.agent
        head = self._head(kind, log.time_ns, log.span_id, actor, ordinal)
        if log.name == names.RESUMED:
            self._resume(head, attempt_of(log.attributes))
        elif log.name == names.COMPRESSED:
            self.events.append(declared(head, log, actor, self.conversations))
        else:
            self.events.append(log_event(log, head, self._threads.get(actor)))

    # --- heads -----------------------------------------------------------------------------------------------------

    def _at_start(self, place: Place, kind: str, ordinal: object = 0) -> dict[str, Any]:
        return self._head(kind, place.span.start_ns, place.span.span_id, place.actor, ordinal)

    def _at_end(self, place: Place, kind: str, ordinal: object = 0) -> dict[str, Any]:
        return self._head(kind, place.span.end_ns or place.span.start_ns, place.span.span_id, place.actor, ordinal)

    def _head(self, kind: str, time_ns: int, span: str | None, actor: str | None, ordinal: object) -> dict[str, Any]:
        """What all events have.  The id says where the event comes from, so that it is the same in every projection."""
        event_id = f"{span or self._run}.{kind}.{ordinal}"
        seq = self._next_seq()
        return {"id": event_id, "run": self._run, "seq": seq, "time_ns": time_ns, "span": span, "actor": actor}

    def _next_seq(self) -> int:
        return self._next + len(self.events)
