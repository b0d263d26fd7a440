"""Starts an agent again and again, each time in a new process, and kills it after a time.

`python -m tests.support.chaos.starting AGENT` imports that module, and what it needs, once, then forks a process for
each line of JSON that it reads, so that a start takes milliseconds.  The process ends as any program does: its threads
are waited for, and its exit handlers run.  It is killed by its parent, before that has waited for it: no other process
can be hit.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_HUNG_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that is gone."""

    code: int
    """Its exit code; -9: it was killed."""
    lines: list[str]
    errors: str
    seconds: float


class Starter:
    """Starts one process at a time: the `main` of an agent's module, with the id of the run to go on with."""

    def __init__(self, agent: str = "tests.support.chaos.agent") -> None:
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-m", "tests.support.chaos.starting", agent]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | path
        )

    def run(self, run_id: str, environ: Mapping[str, str], folder: Path, kill_after: float | None = None) -> Ended:
        """One attempt, until it has ended; it is killed after so many seconds."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        out, errors = folder / "out", folder / "errors"
        asked = {"run": run_id, "environ": dict(environ), "out": str(out), "errors": str(errors), "kill": kill_after}
        began = time.monotonic()
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        return Ended(code, out.read_text().splitlines(), errors.read_text(), time.monotonic() - began)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()  # it ends then
        self._server.stdout.close()
        self._server.wait(_HUNG_SECONDS)


def _serve() -> dict[str, Any] | None:
    """In a forked process what it is to do; None in the parent, when there is nothing more to do."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        child = os.fork()
        if child == 0:
            return asked
        code = _watch(child, asked["kill"])
        print(code, flush=True)  # noqa: T201 - the answer
    return None


def _watch(child: int, kill_after: float | None) -> int:
    until = time.monotonic() + (_HUNG_SECONDS if kill_after is None else kill_after)
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        left = until - time.monotonic()
        if left <= 0 or signal.sigtimedwait({signal.SIGCHLD}, left) is None:
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            # One that hangs was not to be killed.
            return os.waitstatus_to_exitcode(status) if kill_after is not None else 124


def _become(asked: dict[str, Any]) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    os.environ.clear()
    os.environ.update(asked["environ"])
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for target, path in ((1, asked["out"]), (2, asked["errors"])):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, target)
        os.close(opened)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


_IMPORTED_LATER = (
    "anyio._backends._asyncio",
    "httpcore",
    "openai.resources.chat",
    "openai.resources.responses",
    "playhead.capture.openai",
    "playhead.client",
    "playhead.export.delivery",
    "playhead.export.http",
)
"""What an attempt would import while it runs: most of its time."""


if __name__ == "__main__":
    agent = import_module(sys.argv[1])
    for name in _IMPORTED_LATER:
        import_module(name)
    told = _serve()
    if told is not None:
        _become(told)
        agent.main(told["run"])
