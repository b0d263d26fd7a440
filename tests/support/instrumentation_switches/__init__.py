"""Several instrumentations of one library, switched on and off in one process; and whose record of each call counts."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import playhead
from playhead import RefSpanProcessor
from playhead.model import event as ev
from playhead.model import names
from playhead.model.instrumentations import FAMILIES, family_of
from playhead.projection.inputs import Projection
from tests.support.journal_reader import Recording, start_recording
from tests.support.projected import projected


def methods_of(library: str) -> Iterator[tuple[type, str, Any]]:
    """All functions in the classes of a library's imported modules."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == library]
    owners = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    for owner in owners:
        if owner.__module__.partition(".")[0] == library:
            yield from ((owner, name, value) for name, value in vars(owner).items() if callable(value))


class Switches:
    """Switches instrumentations on, and all of them off."""

    def __init__(self, library: str, foreign: dict[str, Any]) -> None:
        self._library, self._foreign = library, foreign
        self._on: list[str] = []
        self._originals = list(methods_of(library))

    def on(self, *families: str) -> None:
        for family in families:
            if family == FAMILIES[0]:
                playhead.instrument(self._library)
            else:
                self._foreign[family]().instrument(skip_dep_check=True)
            self._on.append(family)

    def off(self) -> None:
        for family in reversed(self._on):
            if family == FAMILIES[0]:
                playhead.uninstrument(self._library)
            else:
                self._foreign[family]().uninstrument()
        for owner, name, method in self._originals:  # theirs do not find their wrappers beneath those of others
            if vars(owner).get(name) is not method:
                setattr(owner, name, method)


def recorded_with_theirs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    """A recording with all our instrumentations on, to which the spans of the user's own provider come, too."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(RefSpanProcessor())
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    for recording in start_recording(folder, monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()
    provider.shutdown()


def only_run(recording: Recording) -> Projection:
    """The only run that was recorded, projected.  Spans of other instrumentations count to it."""
    seen = recording.read()
    [run] = {str(span.attributes.get(names.RUN_ID) or span.trace_id) for span in seen.spans}
    for span in (*seen.announced, *seen.spans):
        span.attributes.setdefault(names.RUN_ID, run)
    return projected(seen, run)


def counting_families(run: Projection, recording: Recording) -> list[str]:
    """Families of the spans that count as model calls, in the order of the calls."""
    scopes = {span.span_id: span.scope or names.SCOPE for span in recording.read().spans}
    answered = [event for event in run.events if isinstance(event, ev.LlmCompleted)]
    called = [event for event in run.events if isinstance(event, ev.LlmCalled)]
    assert len(answered) == len(called) == run.row.llm_calls
    return [str(family_of(scopes[str(event.span)])) for event in called]
