"""[stage] → support → show.  The demo's collector, the SDK configured for it, and a client.

Everything is temporary: the system chooses the ports, and the folders with data are removed, however the demo ends.
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

# Variables of the environment that are meant for another collector must not change the demo's.
_COLLECTOR_ENVIRONMENT = {"PLAYHEAD_HOST": "127.0.0.1", "PLAYHEAD_ADMIN_KEY": ""}
# Short enough to show the record at once, long enough to send a run as a whole.
_LINGER_SECONDS = 1.0
# A whole folder of recorded runs (benchmarks.recorded_runs) may be waiting.
FLUSH_SECONDS = 120.0


class DemoFailed(PlayheadError):
    """The demo could not be shown to its end; the message says why."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A running collector, which gets the observed calls of this process."""

    url: str
    client: Client

    def deliver(self) -> None:
        """Waits until the collector has everything.  Raises DemoFailed."""
        if not playhead.flush(FLUSH_SECONDS):
            raise DemoFailed(f"the collector did not take everything within {FLUSH_SECONDS:.0f} s: see the log above")


@contextmanager
def stage() -> Generator[Stage]:
    """Starts everything for the block, and removes it at the end, also after Ctrl-C, SIGTERM or an error. Raises
    DemoFailed."""
    with ExitStack() as stack:
        stack.enter_context(_terminable())
        journal = stack.enter_context(tempfile.TemporaryDirectory(prefix="playhead-demo-"))
        try:
            collector = stack.enter_context(CollectorProcess(env=_COLLECTOR_ENVIRONMENT))
        except CannotStart as error:
            raise DemoFailed(str(error)) from error
        stack.enter_context(_recording(collector.url, Path(journal)))
        yield Stage(collector.url, stack.enter_context(Client(collector.url)))


@contextmanager
def _recording(url: str, journal: Path) -> Generator[None]:
    """Records everything and sends it to this collector, whatever the environment says."""
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
    """Lets SIGTERM end the demo as Ctrl-C does, so that everything that it started ends, too."""

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
