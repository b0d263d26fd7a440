"""memory journal → [contents] → run.  The frames of a journal as spans, log events, contents and threads."""

from __future__ import annotations

from typing import Any

from playhead.journal.frame import (
    ANNOUNCEMENT,
    CONTENT,
    LOG,
    SPAN,
    THREAD,
    frames_in,
    read_content,
    read_log,
    read_span,
    read_thread,
)
from playhead.model import names
from playhead.model.canonical import Content, content_as, value_of
from playhead.model.message import Message, resolve_parts
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.thread import ThreadNode, extend
from playhead.projection.inputs import RunInput


class JournalFrames:
    """The records of all runs so far."""

    def __init__(self) -> None:
        self.run_ids: list[str] = []
        """Runs in the order in which they began."""
        self._spans: dict[str, dict[str, Span]] = {}
        self._logs: dict[str, list[LogEvent]] = {}
        self._contents: dict[ContentRef, Content] = {}
        self._nodes: dict[ContentRef, ThreadNode] = {}

    def read(self, data: bytes) -> None:
        """Adds the records in these frames."""
        for kind, payload, _ in frames_in(data):
            if kind == CONTENT:
                digest, content = read_content(payload)
                self._contents[ContentRef.from_digest(digest)] = content
            elif kind == THREAD:
                thread = read_thread(payload)
                parent = self._nodes.get(thread.parent) if thread.parent is not None else None
                depth = parent.depth if parent is not None else 0
                self._nodes |= {node.ref: node for node in extend(thread.messages, thread.parent, depth)}
            elif kind in (SPAN, ANNOUNCEMENT):
                self._take_span(read_span(payload))
            elif kind == LOG:
                log = read_log(payload)
                if run := self._run_of(log.attributes):
                    self._logs[run].append(log)

    def run_input(self, run: str) -> RunInput:
        """Returns the input of the run's projection."""
        messages = self._messages()
        return RunInput(
            run=run,
            spans=list(self._spans[run].values()),
            logs=self._logs[run],
            nodes=self._nodes,
            roles={ref: message["role"] for ref, message in messages.items()},
            sealed=None,
            last_arrival_ns=0,
            messages=messages,
        )

    def value(self, ref: str | None) -> Any:
        """Returns the JSON value, text or bytes that the ref names. Raises KeyError if it was not recorded."""
        if ref is None:
            return None
        content_ref = ContentRef(ref)
        content = self._contents[content_ref.plain]
        return value_of(content_as(content, content_ref))

    def thread(self, ref: ContentRef | None) -> list[Message]:
        """Returns the messages of a thread, first to last."""
        messages: list[Message] = []
        while ref is not None:
            node = self._nodes[ref]
            messages.append(resolve_parts(self.value(node.message), self._part))
            ref = node.parent
        return messages[::-1]

    def _part(self, ref: ContentRef) -> bytes | None:
        content = self._contents.get(ref.plain)
        return None if content is None else content.data

    def _messages(self) -> dict[ContentRef, Message]:
        stored = (node.message for node in self._nodes.values() if node.message in self._contents)
        return {ref: self.value(ref) for ref in stored}

    def _take_span(self, span: Span) -> None:
        if run := self._run_of(span.attributes):
            # The frames of our own spans do not have their scope: it is the same for all.
            span.scope = span.scope or (names.SCOPE if names.KIND in span.attributes else "")
            stored = self._spans[run].get(span.span_id)
            if stored is None or stored.end_ns is None:
                self._spans[run][span.span_id] = span

    def _run_of(self, attributes: Any) -> str | None:
        run = attributes.get(names.RUN_ID)
        if isinstance(run, str) and run not in self._spans:
            self.run_ids.append(run)
            self._spans[run], self._logs[run] = {}, []
        return run if isinstance(run, str) else None
