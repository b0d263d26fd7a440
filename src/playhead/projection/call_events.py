"""store → [projection]: the events of one call, at its start and at its end.

| call | at its start | at its end |
|---|---|---|
| the run's root | run_started; in a fork run_forked, and ends taken from its parent | run_completed or run_failed |
| llm | context_compressed, message_added, llm_called | llm_completed or llm_failed, message_added |
| tool | tool_called | tool_completed or tool_failed |
| every other kind | step_started | step_completed |
| a step or tool that hands the run over | as a step or tool | as a step or tool, then agent_handoff |

A root that is a call of a model, a tool, an embedding or a retriever gives the events of the run and of the call; any
other root gives the run's events only.  A resumed attempt begins with its log event (see `log_events`); without one,
with its root span.

The tokens of embeddings and rerankers, which are steps, are counted once for each request (`StepUsage`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from playhead.model import event as ev
from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent
from playhead.model.thread import ThreadNode
from playhead.projection.attributes import (
    agent_name,
    answer_tokens,
    attempt_of,
    elapsed_ms,
    failure_fields,
    failure_of,
    has_failed,
    model_of,
    number,
    number_of,
    process_of,
    ref,
    sent_fields,
    text,
    texts,
    tool_name,
    usage_of,
    whole,
    wholes,
)
from playhead.projection.compression_events import compacted, declared, edited, inferred
from playhead.projection.conversations import Conversations, InputDelta, Mark
from playhead.projection.forking import SharedHistory, restore_conversations
from playhead.projection.known_messages import KnownMessages
from playhead.projection.log_events import attempts_in, log_event, log_kind
from playhead.projection.order import END, START, TimelineEntry
from playhead.projection.scores import score_event, scores_on
from playhead.projection.span_tree import SpanNode, SpanTree

# --- embeddings and rerankers -----------------------------------------------------------------------------------------


# Kinds of calls for which providers report tokens although they have no conversation.
_KINDS_WITH_USAGE = frozenset({"embedding", "retriever"})


def asked_model(node: SpanNode) -> str | None:
    """The requested model of an embedding or a reranker; None for other calls."""
    return model_of(node.span.attributes) if node.kind in _KINDS_WITH_USAGE else None


def answering_model(node: SpanNode) -> str | None:
    """The model that answered an embedding or a reranker, or if unknown the requested one; None for other calls."""
    return (
        text(node.span.attributes, names.RESPONSE_MODEL) if node.kind in _KINDS_WITH_USAGE else None
    ) or asked_model(node)


def _work_of(node: SpanNode) -> str | None:
    """The span id of the agent's call around a model call, else of the outermost call around it."""
    above, around = node.parent, None
    while above is not None:
        around = above.span.span_id
        if above.kind == "agent":
            break
        above = above.parent
    return around


class StepUsage:
    """Counts tokens once where embeddings and rerankers are nested (a framework's span around the client's):
    for the innermost that reported them.  Call `ended` for inner calls before outer ones."""

    def __init__(self) -> None:
        # Open calls inside which another one has reported its tokens.
        self._reported_inside: set[str] = set()

    def ended(self, node: SpanNode) -> TokenUsage | None:
        """The tokens to count for a step that ends now; None if it reported none or an inner call has counted them."""
        if node.kind not in _KINDS_WITH_USAGE:
            return None
        usage = usage_of(node.span.attributes)
        is_counted = node.span.span_id in self._reported_inside
        self._reported_inside.discard(node.span.span_id)
        if not is_counted and usage.input_tokens is None:
            return None
        above = node.parent
        while above is not None and above.kind not in _KINDS_WITH_USAGE:
            above = above.parent
        if above is not None:
            self._reported_inside.add(above.span.span_id)
        return None if is_counted else replace(usage, output_tokens=usage.output_tokens or 0)


# --- events of calls --------------------------------------------------------------------------------------------------


_NO_MARK = Mark((), None)


def _is_step(node: SpanNode) -> bool:
    return node.kind is not None and (not node.root or node.kind in _KINDS_WITH_USAGE)


@dataclass(frozen=True, slots=True)
class StartEvents:
    """The events of an open call's start, and the messages that its input added."""

    events: list[ev.RunEvent]
    entered: InputDelta


class EventWriter:
    """Writes a run's events in order, each with the next seq."""

    def __init__(
        self,
        run: str,
        tree: SpanTree,
        nodes: Mapping[ContentRef, ThreadNode],
        known: KnownMessages,
        logs: Iterable[LogEvent] = (),
        shared: SharedHistory | None = None,
    ) -> None:
        self.events: list[ev.RunEvent] = []
        self._shared = shared or SharedHistory(0)
        self._resumed = attempts_in(logs)
        self._run = run
        self._tree = tree
        self._known = known
        self.conversations = Conversations(nodes, known)
        self._next = self._shared.upto + 1
        # The starts of open calls.
        self.open_starts: dict[str, StartEvents] = {}
        # The thread that each agent's model saw last.
        self._threads: dict[str | None, ContentRef] = {}
        # Agents whose last answer was a compaction, and calls that came after one.
        self._compacted: set[str | None] = set()
        self._after_compaction: set[str] = set()
        # Counts log records by span id and event id, so that records with the same number or time get different ids.
        self._alike: Counter[tuple[str | None, str]] = Counter()
        # Output messages of model calls inside a model call (two instrumentations of one call), by the outer span's id.
        self._inner_outputs: dict[str, Counter[ContentRef]] = {}
        self._marks: dict[ContentRef, Mark] = {}
        self._step_usage = StepUsage()
        restore_conversations(self.conversations, self._shared.events)
        for event in self._shared.events:
            if isinstance(event, ev.LlmCalled) and event.thread is not None:
                self._threads[event.actor] = event.thread

    def write(self, entry: TimelineEntry) -> None:
        """Adds the events of this moment. Raises MessagesNeeded if a message has to be read first; then nothing was
        changed."""
        span_node = entry.node
        if entry.log is not None:
            self._write_log_event(entry.log, span_node)
        elif span_node is not None and entry.kind == START:
            self._start(span_node)
        elif span_node is not None and entry.kind == END:
            self.open_starts.pop(span_node.span.span_id, None)
            self._end(span_node)

    def pop_events(self) -> list[ev.RunEvent]:
        """Returns the events written since the last call of this method."""
        events, self.events = self.events, []
        self._next += len(events)
        return events

    def rewrite_start(self, span_node: SpanNode) -> list[tuple[ev.RunEvent, ev.RunEvent]]:
        """Writes the start events of a call again, from its span, which has ended since. Returns the events that
        changed, as pairs (before, now)."""
        begun = self.open_starts[span_node.span.span_id]
        events, after = self.events, self._next
        self.events, self._next = [], begun.events[0].seq if begun.events else after
        if span_node.root and span_node is self._tree.roots[0]:
            self.events.append(self._run_started(span_node))
        elif span_node.kind == "llm":
            self._write_model_call(span_node, begun.entered)
        elif not span_node.root:
            self._start(span_node)
        again, self.events, self._next = self.events, events, after
        return [(old, new) for old, new in zip(begun.events, again, strict=False) if old != new]

    # --- starts ----------------------------------------------------------------------------------------------------

    def _start(self, span_node: SpanNode) -> None:
        before, entered = len(self.events), InputDelta()
        if span_node.root:
            self._begin_run(span_node)
        if span_node.kind == "llm":
            entered = self._call_model(span_node)
        elif span_node.kind == "tool":
            attributes = span_node.span.attributes
            self.events.append(
                ev.ToolCalled(
                    **self._at_start(span_node, "tool_called"),
                    name=tool_name(span_node.span),
                    call_id=text(attributes, names.TOOL_CALL_ID),
                    parent=span_node.parent_call,
                    arguments=ref(attributes, names.TOOL_ARGUMENTS_REF) or ref(attributes, names.INPUT_REF),
                )
            )
        elif _is_step(span_node):
            self.events.append(
                ev.StepStarted(
                    **self._at_start(span_node, "step_started"),
                    name=span_node.step_name,
                    step_kind=span_node.kind or "step",
                    model=asked_model(span_node),
                    parent=span_node.parent_call,
                    input=ref(span_node.span.attributes, names.INPUT_REF),
                )
            )
        if span_node.span.end_ns is None:
            self.open_starts[span_node.span.span_id] = StartEvents(self.events[before:], entered)

    def _run_started(self, span_node: SpanNode) -> ev.RunEvent:
        attributes = span_node.span.attributes
        return ev.RunStarted(
            **self._at_start(span_node, "run_started"),
            name=text(attributes, names.RUN_NAME) or agent_name(span_node.span, span_node.kind) or span_node.span.name,
            attempt=self._first_attempt(span_node),
            session=text(attributes, names.CONVERSATION) or self._tree.earliest_value(names.CONVERSATION),
            user=text(attributes, names.USER) or self._tree.earliest_value(names.USER),
            tags=texts(attributes, names.RUN_TAGS),
            continues=text(attributes, names.CONTINUES),
            input=ref(attributes, names.INPUT_REF),
            metadata=ref(attributes, names.RUN_METADATA_REF),
        )

    def _begin_run(self, span_node: SpanNode) -> None:
        attributes = span_node.span.attributes
        if span_node is self._tree.roots[0]:
            self.events.append(self._run_started(span_node))
        if span_node.attempt > 0 and span_node.attempt not in self._resumed:
            self._resume(self._at_start(span_node, "run_resumed"), span_node.attempt)
        parent = text(attributes, names.FORK_OF)
        if parent is not None and span_node is self._tree.roots[0]:
            self._begin_fork(span_node, parent)

    def _first_attempt(self, span_node: SpanNode) -> int:
        """The number of the attempt at which the run began."""
        later = [attempt for attempt, order in self._resumed.items() if order > (span_node.order or 0)]
        return min([span_node.attempt, *(attempt - 1 for attempt in later)])

    def _resume(self, head: dict[str, Any], attempt: int) -> None:
        """Begins a resumed attempt. All events after this are of calls that were executed: calls answered from the
        record give no second events."""
        self.conversations.interrupt_open_calls()
        self.events.append(ev.RunResumed(**head, attempt=attempt, from_seq=head["seq"] - 1))

    def _begin_fork(self, span_node: SpanNode, parent: str) -> None:
        at = self._shared.upto + 1 if self._shared.upto else whole(span_node.span.attributes, names.FORK_AT)
        self.events.append(ev.RunForked(**self._at_start(span_node, "run_forked"), parent_run=parent, at=at))
        self.conversations.interrupt_open_calls()
        for end in self._shared.ends:
            if isinstance(end, ev.LlmCompleted | ev.LlmFailed):
                self.conversations.call_ended(end.span or "", end.thread)
            self.events.append(replace(end, run=self._run, seq=self._next_seq(), late=False))

    def _call_model(self, span_node: SpanNode) -> InputDelta:
        attributes = span_node.span.attributes
        thread, tokens = ref(attributes, names.INPUT_MESSAGES_REF), whole(attributes, names.INPUT_TOKENS)
        if thread is not None:
            self._threads[span_node.actor] = thread
        tools = ref(attributes, names.TOOL_DEFINITIONS_REF)
        work = _work_of(span_node)
        entered = self.conversations.call_started(span_node.span.span_id, span_node.actor, thread, tokens, tools, work)
        if span_node.actor in self._compacted:
            self._compacted.remove(span_node.actor)
            self._after_compaction.add(span_node.span.span_id)
        if self._marks:
            marks = {node.message: self._marks[node.message] for node in entered.new if node.message in self._marks}
            entered = replace(entered, marks=marks)
        self._write_model_call(span_node, entered)
        return entered

    def _write_model_call(self, span_node: SpanNode, entered: InputDelta) -> None:
        attributes = span_node.span.attributes
        thread, tokens = ref(attributes, names.INPUT_MESSAGES_REF), whole(attributes, names.INPUT_TOKENS)
        if entered.cut is not None:
            head, by_provider = self._at_start(span_node, "context_compressed"), self._is_after_compaction(span_node)
            self.events.append(inferred(head, entered.cut, thread, tokens, by_provider=by_provider))
        for node in entered.new:
            role = self._known.role(node.message, "user")
            head = self._at_start(span_node, "message_added", node.depth)
            mark = entered.marks.get(node.message, _NO_MARK)
            self.events.append(
                ev.MessageAdded(**head, role=role, message=node.message, tags=mark.tags, preserved=mark.preserved)
            )
        self.events.append(
            ev.LlmCalled(
                **self._at_start(span_node, "llm_called"),
                model=model_of(attributes),
                provider=text(attributes, names.PROVIDER) or text(attributes, names.SYSTEM),
                operation=text(attributes, names.OPERATION),
                stream=attributes.get(names.REQUEST_STREAM) is True,
                messages=self.conversations.length(thread),
                parent=span_node.parent_call,
                prompt_mode=text(attributes, names.PROMPT_MODE),
                prompt_sections=texts(attributes, names.PROMPT_SECTIONS),
                section_tokens=wholes(attributes, names.PROMPT_SECTION_TOKENS),
                task=text(attributes, names.TASK),
                turn=whole(attributes, names.TURN),
                thread=thread,
                system=ref(attributes, names.SYSTEM_INSTRUCTIONS_REF),
                tools=ref(attributes, names.TOOL_DEFINITIONS_REF),
                request=ref(attributes, names.REQUEST_REF),
                exact=ref(attributes, names.EXACT_REF),
                input=ref(attributes, names.INPUT_REF),
            )
        )

    # --- ends ------------------------------------------------------------------------------------------------------

    def _end(self, span_node: SpanNode) -> None:
        if span_node.kind == "llm":
            self._model_answers(span_node)
        elif span_node.kind == "tool":
            self.events.append(self._tool_end(span_node))
        elif _is_step(span_node):
            self.events.append(self._step_end(span_node))
        if names.HANDOFF_TO in span_node.span.attributes and not has_failed(span_node.span):
            to = text(span_node.span.attributes, names.HANDOFF_TO) or self._tree.next_agent(span_node) or ""
            self.events.append(ev.AgentHandoff(**self._at_end(span_node, "agent_handoff"), to=to))
        for nth, score in enumerate(scores_on(span_node.span)):
            about = None if span_node.root else span_node.span.span_id
            head = self._at_end(span_node, "score_recorded", nth)
            self.events.append(score.event(head, about, span_node.span.scope))
        if span_node.ends_run:
            self.events.append(self._run_end(span_node))

    def _model_answers(self, span_node: SpanNode) -> None:
        span, attributes = span_node.span, span_node.span.attributes
        thread = ref(attributes, names.OUTPUT_MESSAGES_REF)
        is_compacted = attributes.get(names.COMPACTED) is True
        compaction = self.conversations.compacted(span.span_id, thread) if is_compacted else None
        sent = sent_fields(attributes)
        model = text(attributes, names.RESPONSE_MODEL) or model_of(attributes)
        if has_failed(span):
            head = self._at_end(span_node, "llm_failed")
            self.events.append(ev.LlmFailed(**head, **failure_fields(span), **sent, model=model, thread=thread))
        else:
            first_chunk = number(attributes, names.TIME_TO_FIRST_CHUNK)
            self.events.append(
                ev.LlmCompleted(
                    **self._at_end(span_node, "llm_completed"),
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
                    **sent,
                )
            )
        if compaction is not None:
            head = self._at_end(span_node, "context_compressed", "compacted")
            self.events.append(compacted(head, compaction, attributes))
        elif is_compacted:
            self._compacted.add(span_node.actor)
        input_thread = ref(attributes, names.INPUT_MESSAGES_REF)
        compressed = edited(self._at_end(span_node, "context_compressed", "edited"), attributes, input_thread)
        if compressed is not None:
            self.events.append(compressed)
        self._add_output(span_node, thread, frozenset() if compaction is None else compaction.repeated)

    def _is_after_compaction(self, span_node: SpanNode) -> bool:
        return span_node.span.span_id in self._after_compaction

    def _add_output(self, span_node: SpanNode, thread: ContentRef | None, repeated: frozenset[ContentRef]) -> None:
        """Adds the output messages, including the partial message of a call that failed or was closed early. Those that
        only repeat the input are not new."""
        inner = self._inner_outputs.pop(span_node.span.span_id, None)
        added = list(self.conversations.call_ended(span_node.span.span_id, thread))
        tokens = answer_tokens(span_node.span.attributes) if len(added) == 1 else None
        for node in added:
            if span_node.enclosing_model_call is not None:
                self._inner_outputs.setdefault(span_node.enclosing_model_call.span.span_id, Counter())[
                    node.message
                ] += 1
            if inner is not None and inner[node.message] > 0:
                inner[node.message] -= 1
                continue
            if node.message in repeated:
                continue
            head = self._at_end(span_node, "message_added", f"out{node.depth}")
            role = self._known.role(node.message, "assistant")
            self.events.append(ev.MessageAdded(**head, role=role, source="output", tokens=tokens, message=node.message))

    def _tool_end(self, span_node: SpanNode) -> ev.RunEvent:
        span, attributes = span_node.span, span_node.span.attributes
        named: dict[str, Any] = {"name": tool_name(span), "call_id": text(attributes, names.TOOL_CALL_ID)}
        if has_failed(span):
            return ev.ToolFailed(**self._at_end(span_node, "tool_failed"), **named, **failure_fields(span))
        return ev.ToolCompleted(
            **self._at_end(span_node, "tool_completed"),
            **named,
            elapsed_ms=elapsed_ms(span),
            outcome=text(attributes, names.OUTCOME),
            result=ref(attributes, names.TOOL_RESULT_REF) or ref(attributes, names.OUTPUT_REF),
        )

    def _step_end(self, span_node: SpanNode) -> ev.RunEvent:
        span = span_node.span
        error_type, message = failure_of(span) if has_failed(span) else (None, None)
        return ev.StepCompleted(
            **self._at_end(span_node, "step_completed"),
            name=span_node.step_name,
            step_kind=span_node.kind or "step",
            model=answering_model(span_node),
            usage=self._step_usage.ended(span_node),
            elapsed_ms=elapsed_ms(span),
            error_type=error_type,
            message=message,
            outcome=text(span.attributes, names.OUTCOME),
            output=ref(span.attributes, names.OUTPUT_REF),
        )

    def _run_end(self, span_node: SpanNode) -> ev.RunEvent:
        span = span_node.span
        if has_failed(span):
            return ev.RunFailed(**self._at_end(span_node, "run_failed"), **failure_fields(span))
        return ev.RunCompleted(
            **self._at_end(span_node, "run_completed"),
            elapsed_ms=elapsed_ms(span, span_node.run_began_ns),
            outcome=text(span.attributes, names.OUTCOME),
            output=ref(span.attributes, names.OUTPUT_REF),
        )

    # --- log records -----------------------------------------------------------------------------------------------

    def _write_log_event(self, log: LogEvent, span_node: SpanNode | None) -> None:
        """Writes a log record's event. The event's id contains the record's number, or its time if it has none."""
        if log.name == names.MESSAGE_MARKED:  # becomes a part of the event of the message
            message = ref(log.attributes, names.MESSAGE_REF)
            if message is not None:
                tags, preserved = texts(log.attributes, names.MESSAGE_TAGS), log.attributes.get(names.MESSAGE_PRESERVED)
                self._marks[message] = Mark(tuple(tags), preserved is True or None)
            return
        kind, ordinal = log_kind(log), str(number_of(log.attributes) or log.time_ns)
        if process := process_of(log.attributes):
            ordinal = f"{process}.{ordinal}"
        alike = (log.span_id, f"{kind}.{ordinal}")
        self._alike[alike] += 1
        if self._alike[alike] > 1:
            ordinal = f"{ordinal}-{self._alike[alike]}"
        actor = span_node.actor if span_node else self._tree.agent
        head = self._head(kind, log.time_ns, log.span_id, actor, ordinal)
        if log.name == names.RESUMED:
            self._resume(head, attempt_of(log.attributes))
        elif kind == ev.ScoreRecorded.kind:
            self.events.append(score_event(log, head, is_root=span_node is None or span_node.root))
        elif log.name == names.COMPRESSED:
            self.events.append(declared(head, log, actor, self.conversations))
        else:
            self.events.append(log_event(log, head, self._threads.get(actor)))

    # --- heads -----------------------------------------------------------------------------------------------------

    def _at_start(self, span_node: SpanNode, kind: str, ordinal: object = 0) -> dict[str, Any]:
        return self._head(kind, span_node.span.start_ns, span_node.span.span_id, span_node.actor, ordinal)

    def _at_end(self, span_node: SpanNode, kind: str, ordinal: object = 0) -> dict[str, Any]:
        return self._head(
            kind, span_node.span.end_ns or span_node.span.start_ns, span_node.span.span_id, span_node.actor, ordinal
        )

    def _head(self, kind: str, time_ns: int, span: str | None, actor: str | None, ordinal: object) -> dict[str, Any]:
        """The fields of all events. The id is built from span (or run), kind and ordinal, so it is the same in every
        projection."""
        event_id = f"{span or self._run}.{kind}.{ordinal}"
        seq = self._next_seq()
        return {"id": event_id, "run": self._run, "seq": seq, "time_ns": time_ns, "span": span, "actor": actor}

    def _next_seq(self) -> int:
        return self._next + len(self.events)
