"""[replay]: says at the end of the process that a run was stopped, where nothing else has said so.

A program may catch the exception that stopped its run as an error of a tool, and end with a useless result. The process
that started it learns of the stop from a file (`StopNote`), even if the program ends without its exit handlers.
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
    """A file in which the program notes why its run was stopped, for the process that started it."""

    def __init__(self, path: Path):
        """Does not access the disk."""
        self._path = path

    def note(self, why: str) -> None:
        """Notes the reason, unless one is noted already. Does nothing if the file cannot be written."""
        with suppress(OSError), self._path.open("x") as file:
            file.write(why)

    def mark_said(self) -> None:
        """Notes that the program itself has printed the reason."""
        with suppress(OSError):
            if self._path.exists():
                self._path.write_text(_SAID)

    def read(self) -> str | None:
        """The reason why the run was stopped; empty if the program has printed it. None: the run was not stopped."""
        try:
            noted = self._path.read_text()
        except OSError:
            return None
        return "" if noted == _SAID else noted

    def delete(self) -> None:
        """Deletes the file."""
        self._path.unlink(missing_ok=True)


def stop_sentence(run_id: str, stopped: BaseException | str) -> str:
    """The sentence for the user about a run that was stopped. `stopped`: the exception, or the reason as text."""
    why = stopped if isinstance(stopped, str) else f"{type(stopped).__name__}: {stopped}"
    return f"run {run_id} was stopped, and what the program did after that is not its end. {why}"


def say_at_exit(sentence: str) -> None:
    """Prints the sentence to stderr when the process ends."""
    if not _sentences:
        atexit.register(_say_all)
    if len(_sentences) < _MAX_SENTENCES and sentence not in _sentences:
        _sentences.append(sentence)


def say_now(sentence: str) -> None:
    """Prints the sentence to stderr, unless the process ends with an uncaught exception that stopped a run."""
    uncaught = getattr(sys, "last_value", None)
    if not (isinstance(uncaught, BaseException) and is_run_stopped(uncaught)):
        with suppress(OSError, ValueError, AttributeError):  # stderr was closed by the program, or there is none
            sys.stderr.write(f"playhead: {sentence}\n")
            sys.stderr.flush()


def _say_all() -> None:
    for sentence in _sentences:
        say_now(sentence)
    _sentences.clear()
