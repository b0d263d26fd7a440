"""Starts a program in a process of its own, and keeps what it writes."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECONDS = 300.0
"""After so long, a program hangs: some need ten seconds of a processor, which others may need as well."""


class HungError(AssertionError):
    """A program did not end in time.  It was aborted, so its errors say where its threads were."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that is gone."""

    code: int
    """Its exit code; -9: it was killed."""
    out: str
    errors: str


@dataclass
class Running:
    """A program that was started."""

    _process: subprocess.Popen[bytes]
    _folder: Path
    ended: Ended | None = None

    def send_signal(self, number: signal.Signals) -> None:
        """From any thread; nothing is hit when the program is gone."""
        self._process.send_signal(number)

    def wait(self, seconds: float = SECONDS) -> Ended:
        """Until it has ended, however it ends.  `HungError` after so long."""
        if self.ended is None:
            try:
                code = self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.send_signal(signal.SIGABRT)
                self.ended = self._ended(self._process.wait(SECONDS))
                raise HungError(f"not ended after {seconds} s: {self.ended.out[-1000:]}{self.ended.errors}") from None
            self.ended = self._ended(code)
        return self.ended

    def _ended(self, code: int) -> Ended:
        out, errors = ((self._folder / name).read_text(errors="replace") for name in ("out", "errors"))
        return Ended(code, out, errors)


@contextmanager
def started(
    program: Path, arguments: Sequence[str], environ: Mapping[str, str], *, warnings: str | None = None
) -> Generator[Running]:
    """`python program arguments`, with this environment and nothing else; it is killed at the end.

    `warnings`: what becomes of them, as Python's option -W takes it; None: what Python does.
    """
    options = [] if warnings is None else ["-W", warnings]
    with _started([*options, str(program), *arguments], environ) as running:
        yield running


def run(program: Path, *arguments: str, environ: Mapping[str, str], warnings: str | None = None) -> Ended:
    """Runs the program to its end, however it ends.  The options are those of `started`."""
    with started(program, arguments, environ, warnings=warnings) as running:
        return running.wait()


@contextmanager
def started_playhead(*arguments: str, environ: Mapping[str, str]) -> Generator[Running]:
    """The command `playhead` with these arguments; it is killed at the end."""
    with _started(["-m", "playhead", *arguments], environ) as running:
        yield running


def run_playhead(*arguments: str, environ: Mapping[str, str]) -> Ended:
    """Runs the command `playhead` to its end, however it ends."""
    with started_playhead(*arguments, environ=environ) as running:
        return running.wait()


@contextmanager
def _started(arguments: Sequence[str], environ: Mapping[str, str]) -> Generator[Running]:
    with tempfile.TemporaryDirectory(prefix="playhead-program-") as name:
        folder = Path(name)
        # Files, as a process that the program leaves behind would keep a pipe open.
        with (folder / "out").open("wb") as out, (folder / "errors").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env={"PYTHONFAULTHANDLER": "1", **environ},  # aborted, it says where its threads are
            )
        with process:
            try:
                yield Running(process, folder)
            finally:
                process.kill()
