"""Collectors in processes that are forked from one that has imported what they import.

`CollectorProcess` starts a Python of its own, and half of that start is imports.  Dozens of test modules have a
collector.  Those about the start of a collector start it by its command.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from tests.support.forked.programs import Server, ended_with, server_for

_PROGRAM = Path(__file__).parent / "collector.py"
_COMMAND = ["-m", "playhead_collector.cli", "--json"]


def fork_collectors() -> None:
    """From now on, in this process; nothing where no test has imported `CollectorProcess`."""
    module = sys.modules.get("playhead_collector.process")
    if module is not None and hasattr(os, "fork") and Path("/proc/self/fd").exists():
        vars(module)["subprocess"] = SimpleNamespace(**{**vars(subprocess), "Popen": _popen})


def _popen(command: list[str], **options: Any) -> Any:
    return _Forked(**options) if command[1:] == _COMMAND else subprocess.Popen(command, **options)


class _Forked:
    """What `CollectorProcess` uses of a `subprocess.Popen`."""

    def __init__(self, *, stdin: int, stdout: int, stderr: IO[bytes], env: Mapping[str, str]) -> None:
        assert (stdin, stdout) == (subprocess.DEVNULL, subprocess.PIPE)
        self.returncode: int | None = None
        self._server: Server = server_for(_PROGRAM)
        read, write = os.pipe()
        told = {"program": str(_PROGRAM), "arguments": [], "environ": dict(env), "warnings": None}
        out = f"/proc/{os.getpid()}/fd/{write}"
        self.pid = self._server.start({**told, "out": out, "errors": stderr.name, "keeps_errors": True})
        # The pipe ends when the process does: this end of it is closed when the process has said something, or is gone.
        select.select([read, self._server.answers], [], [])
        os.close(write)
        self.stdout = os.fdopen(read, "rb")

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(_COMMAND, timeout or 0)
        return code

    def _signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            self.returncode = self._server.code(seconds)
            if self.returncode is not None:
                ended_with(self._server)
        return self.returncode
