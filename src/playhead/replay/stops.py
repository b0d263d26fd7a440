"""[replay]: says at the end of the process that a run was stopped, where nothing else has said so.

A program that takes what stopped its run for an error of a tool comes to an end, with an answer that is none.  What
started it learns of the stop from a file (`StopNote`), also when the program ends without its exit handlers.
"""

import atexit
import sys
from contextlib import suppress
from pathlib import Path

from playhead.errors import is_run_stopped

# A service may resume any number of runs.
_MAX_SENTENCES = 20
_SAID = "said"
_sentences: list[str] = []


class StopNote:
    """A file in which the program notes why its run was stopped, for who has started it."""

    def __init__(self, path: Path):
        """Does not access the disk."""
        self._path = path

    def note(self, why: str) -> None:
        """Notes the first reason. Does nothing where the file cannot be written."""
        with suppress(OSError), self._path.open("x") as file:
            file.write(why)

    def mark_said(self) -> None:
        """Notes that the program has said why."""
        with suppress(OSError):
            if self._path.exists():
                self._path.write_text(_SAID)

    def read(self) -> str | None:
        """Why the run was stopped; empty if the program has said so. None: it was not stopped."""
        try:
            noted = self._path.read_text()
        except OSError:
            return None
        return "" if noted == _SAID else noted

    def delete(self) -> None:
        """Deletes the file."""
        self._path.unlink(missing_ok=True)


def stop_sentence(run_id: str, stopped: BaseException | str) -> str:
    """What is said of a run that was stopped."""
    why = stopped if isinstance(stopped, str) else f"{type(stopped).__name__}: {stopped}"
    return f"run {run_id} was stopped, and what the program did after that is not its end. {why}"


def say_at_exit(sentence: str) -> None:
    """Says it on stderr when the process ends."""
    if not _sentences:
        atexit.register(_say_all)
    if len(_sentences) < _MAX_SENTENCES and sentence not in _sentences:
        _sentences.append(sentence)


def say_now(sentence: str) -> None:
    """Says it on stderr, at the process's end: unless an exception that nobody caught has."""
    uncaught = getattr(sys, "last_value", None)
    if not (isinstance(uncaught, BaseException) and is_run_stopped(uncaught)):
        with suppress(OSError, ValueError, AttributeError):  # closed by the program, or none
            sys.stderr.write(f"playhead: {sentence}\n")
            sys.stderr.flush()


def _say_all() -> None:
    for sentence in _sentences:
        say_now(sentence)
    _sentences.clear()
