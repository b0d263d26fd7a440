"""[stage] → scenes.  What a demo plays on: a collector, the SDK pointed at it, a client to ask; and nothing left over.

Everything is temporary: ports are chosen by the system, data go to folders that are removed, whatever the end.
"""

import signal
import tempfile
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import playhead
from playhead.client import Client
from playhead.errors import PlayheadError
from playhead_collector.errors import CannotStart
from playhead_collector.process import CollectorProcess

# A demo is for whoever runs it: what the environment says about another collector is not for the demo's.
_COLLECTOR = {"PLAYHEAD_HOST": "127.0.0.1", "PLAYHEAD_API_KEY": ""}
# Soon enough to show the record at once, long enough to let a run travel in one piece.
_LINGER_SECONDS = 1.0
# A whole folder of recorded runs (benchmarks.recorded_runs) may be waiting.
FLUSH_SECONDS = 120.0


class DemoFailed(PlayheadError):
    """The demo could not be shown to its end; the message says why."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A collector that answers; observed calls of this process go there."""

    url: str
    client: Client

    def deliver(self) -> None:
        """Waits until the collector has everything.  Raises DemoFailed."""
        if not playhead.flush(FLUSH_SECONDS):
            raise DemoFailed(f"the collector did not take everything within {FLUSH_SECONDS:.0f} s: see the log above")


@contextmanager
def stage() -> Generator[Stage]:
    """Up when the block begins, gone when it ends: also on Ctrl-C, SIGTERM or an error.  Raises DemoFailed."""
    with ExitStack() as stack:
        stack.enter_context(_terminable())
        journal = stack.enter_context(tempfile.TemporaryDirectory(prefix="playhead-demo-"))
        try:
            collector = stack.enter_context(CollectorProcess(env=_COLLECTOR))
        except CannotStart as error:
            raise DemoFailed(str(error)) from error
        stack.enter_context(_recording(collector.url, Path(journal)))
        yield Stage(collector.url, stack.enter_context(Client(collector.url)))


@contextmanager
def _recording(url: str, journal: Path) -> Generator[None]:
    """Everything is recorded and goes to this collector, whatever the environment says."""
    playhead.configure(
        endpoint=url,
        journal_dir=journal,
        linger_seconds=_LINGER_SECONDS,
        disabled=False,
        record="always",
        capture_content=True,
        capture_reasoning=True,
    )
    instrumented = playhead.instrument("openai")
    try:
        yield
    finally:
        playhead.shutdown(0)
        if instrumented:
            playhead.uninstrument("openai")


@contextmanager
def _terminable() -> Generator[None]:
    """SIGTERM ends the demo as Ctrl-C does, so that what it started is ended."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # others cannot set handlers, and get no signals
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
