"""The recorder: what it remembers of the calls before."""

from typing import Any, cast

from playhead.calls.recorder import KnownThreads
from playhead.dialect import anthropic
from playhead.journal.recorder import CallFrames, JournalRecorder
from playhead.model.ref import ContentRef
from playhead.refs.intake import PayloadIntake

SHAPE = {"dialect": "anthropic"}


def shape_recorded(recorder: JournalRecorder, shape: Any = SHAPE) -> tuple[ContentRef | None, dict[bytes, ContentRef]]:
    """The ref of the shape of a call, and the refs of the contents that the call brought to the journal."""
    frames = CallFrames()
    frames.new = {}
    messages = [{"role": "user", "content": "hi"}]
    _, ref = recorder.sent_thread_refs(
        messages, anthropic.to_message, anthropic.from_message, KnownThreads(), frames, shape=shape
    )
    recorder.intake.known.add_all(frames.new)
    return ref, frames.new


def recorder() -> JournalRecorder:
    nothing = cast(Any, None)
    intake = PayloadIntake(max_content_bytes=2**20)
    return JournalRecorder(intake, nothing, nothing, content=True, reasoning=True, always=True)


def test_the_shape_of_requests_is_recorded_once_and_again_when_its_content_was_forgotten():
    to = recorder()
    first, new = shape_recorded(to)
    assert first is not None
    assert first.digest in new
    assert shape_recorded(to) == (first, {})
    assert shape_recorded(to, {**SHAPE, "before": 1})[0] != first
    to.intake.forget()
    again, new = shape_recorded(to)
    assert again == first
    assert first.digest in new


def test_the_marker_for_a_shape_in_a_full_journal_is_not_its_ref_later():
    to = recorder()
    to.intake.full = True
    marker = shape_recorded(to)[0]
    to.intake.full = False
    ref = shape_recorded(to)[0]
    assert ref != marker
    assert shape_recorded(to)[0] == ref
