"""The process that programs are forked from: `python -m tests.support.forked.server MODULE...`.

It imports the modules once.  Each line that it reads is a program to start, or a signal for the one that runs; it
writes a line with the exit code when that one has ended.  The process of a program ends as any does: its threads are
waited for, and its exit handlers run.  It is signalled by its parent, before that has waited for it: no other process
can be hit.
"""

import faulthandler
import gc
import json
import os
import select
import signal
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def main(modules: list[str]) -> None:
    """In a forked process, the program that it is; in the parent, until nobody asks any more."""
    for name in modules:
        import_module(name)
    gc.collect()
    gc.freeze()  # else the first collection of each program copies all of this memory
    told = _serve()
    if told is not None:
        _become(told)
        _execute(told["program"], told["arguments"])


def _serve() -> dict[str, Any] | None:
    """In a forked process what it is to do; None in the parent, when nobody asks any more."""
    ended, woken = os.pipe()
    for end in (ended, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = 0
    asked = b""
    while True:
        ready, _, _ = select.select([0, ended], [], [])
        if ended in ready:
            os.read(ended, 1024)
            child = _ended(child)
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                _leave(child)
                return None
            *lines, asked = (asked + data).split(b"\n")
            for line in lines:
                what = json.loads(line)
                if "signal" in what:
                    if child:
                        os.kill(child, what["signal"])
                    continue
                child = os.fork()
                if child == 0:
                    signal.set_wakeup_fd(-1)
                    os.close(ended)
                    os.close(woken)
                    return what


def _ended(child: int) -> int:
    """The child that still runs; tells the code of one that has ended."""
    if not child:
        return 0
    found, status = os.waitpid(child, os.WNOHANG)
    if not found:
        return child
    os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))
    return 0


def _leave(child: int) -> None:
    if child:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _become(told: dict[str, Any]) -> None:
    """Its environment, its output, and signals as in a new process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(told["environ"])
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for target, path, mode in ((0, os.devnull, os.O_RDONLY), (1, told["out"], flags), (2, told["errors"], flags)):
        opened = os.open(path, mode, 0o600)
        os.dup2(opened, target)
        os.close(opened)
    if os.environ.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()


def _execute(program: str, arguments: list[str]) -> None:
    """As `python program arguments` does."""
    path = [str(Path(program).parent), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path[:] = list(dict.fromkeys((*path, *sys.path)))
    sys.argv = [program, *arguments]
    module = ModuleType("__main__")
    module.__file__ = program
    sys.modules["__main__"] = module
    exec(compile(Path(program).read_bytes(), program, "exec"), module.__dict__)


if __name__ == "__main__":
    main(sys.argv[1:])
