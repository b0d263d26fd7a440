"""Detects what a program does besides its calls while they are answered from a record: it starts commands and changes
files. None of this is recorded, so it is done once more.

Python reports both by its audit events, before they happen. The hook is installed only in processes that continue from
a record.
"""

import os
import shlex
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol, cast

from opentelemetry.context import get_current

from playhead.calls import runtime
from playhead.calls.begin import CURRENT, NEXT_RUN
from playhead.calls.run import NextRun
from playhead.calls.span import ObservedSpan
from playhead.errors import RunStopped
from playhead.kernel.guard import guarded

# Index of the command in the event's arguments.
_COMMANDS = {"subprocess.Popen": 1, "os.system": 0, "os.exec": 1, "os.posix_spawn": 1, "os.spawn": 2, "os.startfile": 0}
_CHANGES = {
    "os.remove": "removed",
    "os.rename": "renamed",
    "os.rmdir": "removed",
    "os.truncate": "truncated",
    "os.mkdir": "made as a folder",
    "os.link": "linked",
    "os.symlink": "linked",
    "os.chmod": "given other permissions",
    "os.chown": "given another owner",
    "os.chflags": "given other flags",
    "os.setxattr": "given another attribute",
    "os.removexattr": "freed of an attribute",
    "os.utime": "given other times",
    "sqlite3.connect": "opened as a database",
}
# Index of the changed path in the event's arguments, if it is not the first.
_PATH_AT = {"os.link": 1, "os.symlink": 1}
# These change nothing if the path exists: the folder is made with `exist_ok`, or the call fails.
_NEEDS_NOTHING_THERE = frozenset({"os.mkdir", "os.link", "os.symlink"})
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_TRUNC | os.O_CREAT
# Commands that only report on the machine: Python's `platform` and clients of models start them.
_HARMLESS = frozenset({"uname", "lsb_release", "ldconfig", "sw_vers"})
# Files that Python and libraries write for themselves.
_NOT_THE_PROGRAMS = (f"{os.sep}__pycache__{os.sep}", f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_DEVICES = ("/dev/null", "/dev/std", "/dev/tty", "/dev/pt", "/dev/fd/", "/proc/")
# Value in events of a path that is not relative to an open folder.
_NO_FOLDER = -1
_MAX_SHOWN = 200


class EffectWatcher(Protocol):
    """A run that continues from its record, and is told of effects of the program."""

    def repeats(self, span: ObservedSpan | None) -> bool:
        """Whether the program repeats here what it did before. `span`: the enclosing call; None: there is none."""
        ...

    def before_command(self, command: str) -> None:
        """Called before a command is started.  May raise RunStopped."""
        ...

    def before_change(self, how: str, path: str) -> None:
        """Called before a file is changed."""
        ...


class _AuditHook:
    """State of this process's audit hook. Python cannot remove a hook; it does nothing when no run continues from a
    record."""

    is_installed: ClassVar[bool] = False
    mutex = threading.Lock()
    own_folder: ClassVar[str] = ""
    here = threading.local()


def watch_effects(own_folder: str) -> None:
    """Reports effects of this process to its runs that continue from a record. `own_folder`: the journal's, where
    changes do not count."""
    with _AuditHook.mutex:
        _AuditHook.own_folder = own_folder
        if not _AuditHook.is_installed:
            _AuditHook.is_installed = True
            sys.addaudithook(_audit)


@contextmanager
def unwatched() -> Generator[None]:
    """Inside the block, effects of this thread are not reported: a function of the user decides about a call."""
    was, _AuditHook.here.is_busy = getattr(_AuditHook.here, "is_busy", False), True
    try:
        yield
    finally:
        _AuditHook.here.is_busy = was


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event != "open" and event not in _CHANGES and event not in _COMMANDS:
        return
    if getattr(_AuditHook.here, "is_busy", False) or sys.is_finalizing():
        return
    _AuditHook.here.is_busy = True  # the report may write to a file
    stopped: RunStopped | None = None
    try:
        with guarded("see what the program does again"):
            stopped = _report(event, args)
    finally:
        _AuditHook.here.is_busy = False
    if stopped is not None:
        raise stopped


def _report(event: str, args: tuple[Any, ...]) -> RunStopped | None:
    """Reports the event to the watcher of the current call. Returns the error with which the watcher stops the run;
    None: the run goes on."""
    try:
        tell = _tells(event, args)
        if tell is not None and (watcher := _watcher()) is not None:
            tell(watcher)
    except RunStopped as error:
        return error
    return None


def _tells(event: str, args: tuple[Any, ...]) -> Callable[[EffectWatcher], None] | None:
    """Returns the function that reports the event to a watcher; None: the event is no effect of the program."""
    if event in _COMMANDS:
        command = args[_COMMANDS[event]]
        if isinstance(command, list | tuple) and command and _name_of(command[0]) in _HARMLESS:
            return None
        command_text = _shown_command(cast(Any, command))
        return lambda watcher: watcher.before_command(command_text)
    if event == "open" and not (isinstance(args[2], int) and args[2] & _WRITES):
        return None
    path = _path_of(args[_PATH_AT.get(event, 0)])
    if path is None or path.startswith(_DEVICES) or any(part in f"{path}{os.sep}" for part in _NOT_THE_PROGRAMS):
        return None
    if event in _NEEDS_NOTHING_THERE and args[-1] == _NO_FOLDER and os.path.lexists(path):
        return None
    if _AuditHook.own_folder and path.startswith(_AuditHook.own_folder):
        return None
    how = _CHANGES.get(event, "opened for writing")
    return lambda watcher: watcher.before_change(how, path)


def _watcher() -> EffectWatcher | None:
    """Returns the run that continues from its record here, if the program repeats what it did before; else None."""
    where = get_current()
    span = where.get(CURRENT)
    if isinstance(span, ObservedSpan):
        replay: Any = span.run.replay
        around: ObservedSpan | None = span
        while around is not None:
            if around.can_be_answered_from_record:
                return None  # a call that is executed: the record says whether that is new
            around = around.enclosing
    elif span is None:
        following = where.get(NEXT_RUN) or runtime.current.next_run
        is_begun = isinstance(following, NextRun) and not following.is_waiting
        replay = following.run.replay if isinstance(following, NextRun) and is_begun else None
    else:
        return None
    if replay is None or not hasattr(replay, "before_command"):  # e.g. the run was stopped
        return None
    watcher = cast(EffectWatcher, replay)
    return watcher if watcher.repeats(span) else None


def _name_of(executable: Any) -> str:
    return (_path_of(executable) or "").rpartition(os.sep)[2]


def _shown_command(command: object) -> str:
    if isinstance(command, list | tuple):
        command = shlex.join(str(_path_of(part) or part) for part in cast("list[Any]", command))
    text = str(_path_of(command) or command)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _path_of(value: object) -> str | None:
    if isinstance(value, bytes):
        return os.fsdecode(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(os.fspath(cast("os.PathLike[Any]", value)))
    return value if isinstance(value, str) else None
