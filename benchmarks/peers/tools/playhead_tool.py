"""Playhead: `@observe`, into a journal that nobody delivers."""

import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import playhead
from benchmarks.peers.recorded import RecordedCall
from playhead.journal.frame import SPAN, frames_in
from playhead.journal.lane import LaneReader, Position, lanes
from playhead.model import names
from playhead.model.span import Span
from tests.support.journal_reader import Journaled, read_journal

_ERROR = 2


class _PlayheadTool:
    def __init__(self) -> None:
        self.version = version("playhead")
        self._folder = tempfile.TemporaryDirectory(prefix="probe-")
        self.reset()

    def decorate(self, function: Any) -> Any:
        return playhead.observe(function)

    def calls(self) -> list[RecordedCall]:
        playhead.flush(0)
        journal = read_journal(Path(self._folder.name))
        ended = {span.span_id: span for span in journal.spans}
        spans = {span.span_id: span for span in (*journal.announced, *journal.spans)}
        found = [_call(journal, span, is_ended=span_id in ended) for span_id, span in spans.items()]
        return sorted(found, key=lambda call: call.started_ns)

    def reset(self) -> None:
        before, self._folder = self._folder, tempfile.TemporaryDirectory(prefix="probe-")
        playhead.configure(journal_dir=self._folder.name)
        before.cleanup()

    def count_only(self) -> Callable[[], int]:
        before = self._count()
        return lambda: self._count() - before

    def _count(self) -> int:
        playhead.flush(0)
        count = 0
        for lane in lanes(Path(self._folder.name)):
            reader = LaneReader(lane)
            for number in reader.segments():
                data, _ = reader.read(Position(number, 0), reader.segment_bytes(number))
                count += sum(kind == SPAN for kind, _, _ in frames_in(data))
        return count


def _call(journal: Journaled, span: Span, *, is_ended: bool) -> RecordedCall:
    attributes = span.attributes
    return RecordedCall(
        name=span.name.rpartition(" ")[2],
        id=span.span_id,
        parent=span.parent_id,
        started_ns=span.start_ns,
        ended_ns=span.end_ns if is_ended else None,
        failed=span.status == _ERROR,
        cancelled=attributes.get(names.OUTCOME) == "cancelled",
        input=str(journal.value(span, names.INPUT_REF)) if names.INPUT_REF in attributes else "",
    )


def make_tool() -> _PlayheadTool:
    return _PlayheadTool()
