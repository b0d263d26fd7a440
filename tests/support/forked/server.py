"""The process that programs are forked from: `python -m tests.support.forked.server MODULE...`.

It imports the modules once.  Each line that it reads is a program to start: it writes a line with the id of its
process, and one with the exit code when that has ended.  Ended processes stay until the next line is read, so that a
signal for one can hit no other.  The process of a program ends as any does: its threads are waited for, and its exit
handlers run.
"""

import faulthandler
import gc
import json
import os
import sys
import warnings
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
        if told["warnings"]:
            warnings.simplefilter(told["warnings"])
        _execute(told["program"], told["arguments"])


def _serve() -> dict[str, Any] | None:
    """In a forked process what it is to do; None in the parent, when nobody asks any more."""
    child = 0
    for line in sys.stdin:
        if child:
            os.waitpid(child, 0)
        child = os.fork()
        if child == 0:
            return json.loads(line)
        _tell(child)
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert ended is not None  # it is only with WNOHANG
        _tell(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)
    return None


def _tell(number: int) -> None:
    os.write(1, b"%d\n" % number)


def _become(told: dict[str, Any]) -> None:
    """Its environment, and its output."""
    os.environ.clear()
    os.environ.update(told["environ"])
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    errors = os.O_WRONLY | os.O_CREAT | os.O_APPEND if told.get("keeps_errors") else flags
    for target, path, mode in ((0, os.devnull, os.O_RDONLY), (1, told["out"], flags), (2, told["errors"], errors)):
        opened = os.open(path, mode, 0o600)
        os.dup2(opened, target)
        os.close(opened)
    faulthandler.enable()  # a program that hangs is aborted, and says then where its threads are


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
