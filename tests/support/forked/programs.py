"""Starts programs by the servers that they are forked from, of which each process of the tests has its own."""

import ast
import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

SECONDS = 120.0
"""After so long, a program hangs."""
ROOT = Path(__file__).parents[3]
COMMAND_LINE = Path(__file__).parent / "command_line.py"
"""The command `playhead`."""
IMPORTED_LATER = (
    "anyio._backends._asyncio",
    "httpcore",
    "openai.resources.chat",
    "openai.resources.embeddings",
    "openai.resources.responses",
    "playhead.capture.openai",
    "playhead.client",
    "playhead.export.delivery",
    "playhead.export.http",
    "playhead.replay.record",
)
"""What most programs import while they run."""


class HungError(AssertionError):
    """A program did not end in time.  It was aborted, so its errors say where its threads were."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that is gone."""

    code: int
    """Its exit code; -9: it was killed."""
    out: str
    errors: str


@dataclass(eq=False)
class Server:
    """A process that has imported the modules.  It runs one program at a time."""

    modules: tuple[str, ...]
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        path = os.pathsep.join(dict.fromkeys((str(ROOT), *filter(None, sys.path))))
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_"))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked.server", *self.modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ | {"PYTHONPATH": path},
            bufsize=0,
        )

    def start(self, what: Mapping[str, object]) -> int:
        """The id of the program's process."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        return self._number()

    def code(self, seconds: float | None) -> int | None:
        """Of the program that runs, when it has ended; None: it has not within this time."""
        return self._number() if select.select([self.answers], [], [], seconds)[0] else None

    @property
    def answers(self) -> IO[bytes]:
        """Can be read from when the program has ended."""
        assert self.process.stdout is not None
        return self.process.stdout

    def _number(self) -> int:
        line = self.answers.readline()
        assert line, f"what forks programs ended with {self.process.wait()}"
        return int(line)


@dataclass
class Running:
    """A program that was started."""

    _server: Server
    _folder: Path
    _process: int
    ended: Ended | None = None

    def send_signal(self, number: signal.Signals) -> None:
        """From any thread; nothing is hit when the program is gone."""
        if self.ended is None:
            os.kill(self._process, number)

    def wait(self, seconds: float = SECONDS) -> Ended:
        """Until it has ended, however it ends.  `HungError` after so long."""
        if self.ended is None:
            code = self._server.code(seconds)
            if code is None:
                self.send_signal(signal.SIGABRT)
                self._server.code(SECONDS)
                self.ended = Ended(-signal.SIGABRT, self._written("out"), self._written("errors"))
                raise HungError(f"not ended after {seconds} s: {self.ended.out[-1000:]}{self.ended.errors}")
            self.ended = Ended(code, self._written("out"), self._written("errors"))
        return self.ended

    def _written(self, name: str) -> str:
        return (self._folder / name).read_text(errors="replace")


_idle: list[Server] = []
"""The one that was used last comes last."""
_MAX_IDLE = 4


@atexit.register
def _end_servers(left: int = 0) -> None:
    while len(_idle) > left:
        with _idle.pop(0).process as process:
            assert process.stdin is not None
            process.stdin.close()  # it ends then


def server_for(*programs: Path) -> Server:
    """A process that runs nothing, and has imported what these programs import.  Give it to `ended_with` afterwards."""
    modules = tuple(sorted({name for each in programs for name in modules_of(each)}))
    for server in _idle:
        if server.modules == modules:
            _idle.remove(server)
            return server
    return Server(modules)


def ended_with(server: Server) -> None:
    """Another program may be started by it."""
    _idle.append(server)
    _end_servers(_MAX_IDLE)


@contextmanager
def started(
    program: Path,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    *,
    also: Iterable[Path] = (),
    warnings: str | None = None,
) -> Generator[Running]:
    """The program, with this environment and nothing else; it is killed at the end.

    `also`: modules that it imports while it runs, or other programs that run in processes forked from the same one.
    `warnings`: what becomes of them, as `warnings.simplefilter` takes it; None: what Python does.
    """
    server = server_for(program, *also)
    with tempfile.TemporaryDirectory(prefix="playhead-program-") as folder:
        out, errors = (str(Path(folder) / name) for name in ("out", "errors"))
        told = {"program": str(program), "arguments": list(arguments), "environ": dict(environ), "warnings": warnings}
        running = Running(server, Path(folder), server.start({**told, "out": out, "errors": errors}))
        try:
            yield running
        finally:
            if running.ended is None:
                running.send_signal(signal.SIGKILL)
                running.wait()
            ended_with(server)


def run(
    program: Path, *arguments: str, environ: Mapping[str, str], also: Iterable[Path] = (), warnings: str | None = None
) -> Ended:
    """Runs the program to its end, however it ends.  The options are those of `started`."""
    with started(program, arguments, environ, also=also, warnings=warnings) as running:
        return running.wait()


def modules_of(program: Path) -> tuple[str, ...]:
    """What it imports at its top, but for what stands beside it, which may read the environment as it does."""
    names: set[str] = set()
    for each in ast.parse(program.read_bytes()).body:
        if isinstance(each, ast.Import):
            names.update(alias.name for alias in each.names)
        elif isinstance(each, ast.ImportFrom) and each.module and not each.level:
            names.add(each.module)
    found = {name for name in names if not (program.parent / f"{name.partition('.')[0]}.py").exists()}
    return tuple(sorted(found.union(IMPORTED_LATER)))
