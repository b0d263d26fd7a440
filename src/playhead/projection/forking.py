"""store → [projection]: the history that a fork shares with its parent; a fork stores only its own events.  Pure.

A fork's history is the parent's events before the call at which it was forked, then its own; seqs continue.  Calls of
the shared part get no second events, so the ends of calls that were open at that point are copied from the parent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from playhead.model import event as ev
from playhead.model import names
from playhead.model.ids import WHOLE_ID
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.projection.attributes import CANCELLED, order_of, text, whole
from playhead.projection.conversations import Conversations
from playhead.projection.inputs import Parent, RunInput
from playhead.projection.span_tree import SpanTree

_BEGINS = (ev.LlmCalled, ev.ToolCalled, ev.StepStarted)
_ENDS = (ev.LlmCompleted, ev.LlmFailed, ev.ToolCompleted, ev.ToolFailed, ev.StepCompleted)


@dataclass(frozen=True, slots=True)
class SharedHistory:
    """The part of a parent's history that a fork shares.

    `upto`: the seq of the last shared event; `events`: the shared events that are stored; `ends`: the ends of calls
    that were open at that point, in order."""

    upto: int
    events: Sequence[ev.RunEvent] = ()
    ends: Sequence[ev.RunEvent] = ()


def fork_root(spans: Iterable[Span]) -> Span | None:
    """The span that marks the run as a fork; None for any other run."""
    return next((span for span in spans if text(span.attributes, names.FORK_OF) is not None), None)


def named_parent(spans: Iterable[Span]) -> str | None:
    """The run id in the fork attribute of these spans; None if there is none, or it is not a run id."""
    named = next((span.attributes[names.FORK_OF] for span in spans if names.FORK_OF in span.attributes), None)
    return named if isinstance(named, str) and WHOLE_ID.fullmatch(named) else None


def threads_in(history: Iterable[ev.RunEvent]) -> Iterator[ContentRef]:
    """The threads that `restore_conversations` needs: those that these events name."""
    for event in history:
        match event:
            case ev.LlmCalled(thread=thread) | ev.LlmCompleted(thread=thread) | ev.LlmFailed(thread=thread):
                named = (thread,)
            case ev.ContextCompressed(before=before, after=after):
                named = (before, after)
            case _:
                named = ()
        yield from (ref for ref in named if ref is not None)


def first_order(spans: Iterable[Span]) -> int:
    """The number of a run's first own call: a fork continues the numbers of its parent."""
    spans = list(spans)
    root = fork_root(spans)
    if root is None:
        return 1
    number = whole(root.attributes, names.FORK_ORDER)
    # A fork's first call has the number of the parent's call that it replaces.
    return number or min((order for span in spans if (order := order_of(span.attributes))), default=1)


def shared_with(work: RunInput, tree: SpanTree) -> SharedHistory | None:
    """The history that the run shares with its parent; None when it is not a fork, or when the fork's position is not
    known (yet)."""
    parent = work.parent
    if parent is None:
        # When the parent was deleted, the fork's own events keep their seqs.
        return None if work.shared is None else SharedHistory(work.shared)
    cut = _cut(parent, first_order(work.spans))
    first = None if cut is None else next((event.seq for event in parent.events if event.span == cut.span_id), None)
    if work.shared is not None and (work.sealed is not None or first is None):
        first = work.shared + 1
    if first is None:
        return None
    shared = [event for event in parent.events if event.seq < first]
    later = [event for event in parent.events if event.seq >= first]
    return SharedHistory(first - 1, shared, _ends(parent, shared, later, cut, tree))


def restore_conversations(conversations: Conversations, events: Iterable[ev.RunEvent]) -> None:
    """Replays the shared events into `conversations`, which then equal the parent's at the fork."""
    events = list(events)
    tokens = {event.span: event.usage.input_tokens for event in events if isinstance(event, ev.LlmCompleted)}
    for event in events:
        match event:
            case ev.LlmCalled():
                reported = tokens.get(event.span)
                conversations.call_started(event.span or "", event.actor, event.thread, reported, event.tools)
            case ev.LlmCompleted() | ev.LlmFailed():
                conversations.call_ended(event.span or "", event.thread)
            case ev.ContextCompressed(origin="declared"):
                conversations.compression_declared(event.actor, event.before, event.after, event.summary)
            case ev.RunResumed() | ev.RunForked():
                conversations.interrupt_open_calls()
            case _:
                pass


def _cut(parent: Parent, order: int) -> Span | None:
    """The call at which the parent was forked, in the parent's spans or its ancestors'; None when it is not stored."""
    for spans in parent.spans:
        call = next((span for span in spans if order_of(span.attributes) == order), None)
        if call is not None or order >= first_order(spans):
            return call
    return None


def _ends(
    parent: Parent, shared: Sequence[ev.RunEvent], later: Sequence[ev.RunEvent], cut: Span | None, tree: SpanTree
) -> list[ev.RunEvent]:
    """The parent's end events of calls that were open at the fork and that the fork answered from the record.

    Left out: calls around the cut, which the fork made again, and cancelled calls, which were not answered."""
    spans = {span.span_id: span for level in reversed(parent.spans) for span in level}
    again = {key for node in tree.nodes if (key := text(node.span.attributes, names.CALL_KEY)) is not None}
    around = set(_above(cut, spans))
    underway = {
        span
        for span in _open(shared)
        if span not in around and (span not in spans or text(spans[span].attributes, names.CALL_KEY) not in again)
    }
    ended = {event.span for event in later if isinstance(event, _ENDS) and event.outcome != CANCELLED} & underway
    return [
        event
        for event in later
        if event.span in ended
        and (isinstance(event, _ENDS) or (isinstance(event, ev.MessageAdded) and event.source == "output"))
    ]


def _open(events: Iterable[ev.RunEvent]) -> set[str]:
    open_spans: set[str] = set()
    for event in events:
        if isinstance(event, _BEGINS) and event.span is not None:
            open_spans.add(event.span)
        elif isinstance(event, _ENDS):
            open_spans.discard(event.span or "")
        elif isinstance(event, ev.RunForked | ev.RunResumed):
            open_spans.clear()
    return open_spans


def _above(span: Span | None, spans: Mapping[str, Span]) -> Iterator[str]:
    seen: set[str] = set()
    while span is not None and span.span_id not in seen:
        seen.add(span.span_id)
        yield span.span_id
        span = spans.get(span.parent_id or "")
