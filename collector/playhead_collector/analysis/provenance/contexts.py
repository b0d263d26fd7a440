"""[analysis]: the context of each model call of a run, in one index that grows with the run. Pure."""

from collections.abc import Iterable, Iterator

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead_collector.analysis.texts.passages import (
    ASSISTANT,
    RESULT,
    SYSTEM,
    USER,
    ContextIndex,
    Source,
    passage_of,
    passages_of,
)
from playhead_collector.analysis.transcript.transcript import ToolRun, Transcript, Turn

Beside = tuple[ContentRef | None, Source]
"""A content outside the thread of messages, and its source."""


class Contexts:
    """Index of the contexts of a run's model calls. Ask for calls in the order of the run: each message is read once.

    A context maps each content that the call saw to its position; -1 for a system text outside the thread.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.index = ContextIndex()
        self._story = transcript
        self._tip: ContentRef | None = None
        self._at: dict[ContentRef, int] = {}
        self._depth = 0

    def context_of(self, tool: ToolRun) -> dict[ContentRef, int]:
        """The context of this tool call. Valid until the next call of a method."""
        self._advance_to(tool.turn.begin.thread if tool.turn else None)
        beside = self._beside(tool) if not self._at or tool.request is None else ()
        return self._with(tool.turn, beside)

    def context_of_turn(self, turn: Turn) -> dict[ContentRef, int]:
        """The context of this model call. Valid until the next call of a method."""
        self._advance_to(turn.begin.thread)
        return self._with(turn, ())

    def of_messages(self, refs: Iterable[ContentRef]) -> dict[ContentRef, int]:
        """These messages as a context, although no call may have seen them together."""
        visible = {ref: position for position, ref in enumerate(refs)}
        for ref in visible:
            self._read_message(ref)
        return visible

    def _with(self, turn: Turn | None, beside: Iterable[Beside]) -> dict[ContentRef, int]:
        extra: list[Beside] = [(turn.begin.system, SYSTEM), (turn.begin.input, USER)] if turn else []
        extra += beside
        visible = self._at if not any(ref for ref, _ in extra) else dict(self._at)
        for ref, source in extra:
            if ref is not None and ref not in visible:
                self._read_value(ref, source)
                visible[ref] = -1 if source == SYSTEM else len(visible)
        return visible

    def _beside(self, tool: ToolRun) -> Iterator[Beside]:
        """Contents known to code that called a tool without a request: input, earlier results, the model's output."""
        turn = tool.turn
        for event in self._story.events[: self._story.index_of(tool.begin.seq)]:
            if isinstance(event, ev.RunStarted):
                yield event.input, USER
            elif isinstance(event, ev.ToolCompleted):
                yield event.result, RESULT
        for output in turn.outputs if turn else ():
            yield output.message, ASSISTANT
        if turn is not None and isinstance(turn.end, ev.LlmCompleted):
            yield turn.end.output, ASSISTANT

    def _advance_to(self, thread: ContentRef | None) -> None:
        nodes = self._story.nodes
        new: list[ThreadNode] = []
        node = nodes.get(thread) if thread else None
        while node is not None and node.ref != self._tip:
            new.append(node)
            node = nodes.get(node.parent) if node.parent else None
        if node is None:  # does not continue the last thread: start again
            self._at, self._depth = {}, 0
        for new_node in reversed(new):
            self._read_message(new_node.message)
            self._at.setdefault(new_node.message, self._depth)
            self._depth += 1
        self._tip = thread if thread in nodes else None

    def _read_message(self, ref: ContentRef) -> None:
        if not self.index.knows(ref):
            self.index.add(self._story.passages(ref))

    def _read_value(self, ref: ContentRef, source: Source) -> None:
        if self.index.knows(ref):
            return
        message = self._story.message(ref)
        value = None if message else self._story.cache.parsed(ref)
        if message is not None:
            self.index.add(passages_of(ref, message))
        elif value is not None:
            self.index.add([passage_of(ref, 0, source, value)])
