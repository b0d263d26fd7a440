"""Runs a collector in its own process for a limited time: for tests and `playhead demo`.

    with CollectorProcess() as collector:
        configure(endpoint=collector.url)

Without a database URL it starts its own Postgres, in a temporary folder that is removed afterwards.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import orjson

from playhead_collector import embedded
from playhead_collector.errors import CannotStart

# The collector finishes the requests in progress, and Postgres writes a checkpoint.
STOP_SECONDS = 60


class CollectorProcess:
    """A collector process. `url` answers from `start()` to `stop()`, or inside the `with` block.

    `grpc_url` is the address for OTLP over gRPC; None if gRPC is off. `database` is the database URL without the
    password (its own Postgres needs no password).

    `env` are further settings, as environment variables. A given `data_dir` is kept, so that another process can use it
    again; by default a new folder is created and removed.
    """

    def __init__(
        self,
        *,
        data_dir: Path | None = None,
        database_url: str | None = None,
        port: int = 0,
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._temporary = data_dir is None
        self.data_dir = Path(tempfile.mkdtemp(prefix="playhead-collector-")) if data_dir is None else data_dir
        self._env = {"PLAYHEAD_GRPC_PORT": "0", **env, "PLAYHEAD_PORT": str(port)}
        self._env["PLAYHEAD_DATA_DIR"] = str(self.data_dir)
        self._env["PLAYHEAD_DATABASE_URL"] = database_url or ""
        self._embedded = not database_url
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.grpc_url: str | None = None
        self.database = ""
        self.pid = 0

    def start(self) -> Self:
        """Starts the process and returns when it answers. Raises CannotStart with the end of its log."""
        # Import modules from the same folders as this process, also in a checkout that is not installed.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **self._env}
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "playhead_collector.cli", "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=env,
            )
        assert self._process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise CannotStart(f"the collector ended with {code}: {self.log().strip()[-2000:]}")
        addresses = orjson.loads(line)
        self.url, self.database, self.pid = addresses["collector"], addresses["database"], addresses["pid"]
        self.grpc_url = addresses["grpc"]
        return self

    @property
    def log_path(self) -> Path:
        """Path of the log file."""
        return self.data_dir / "collector.log"

    def log(self) -> str:
        """Returns the log so far."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> int:
        """Finishes the work in progress, stops the process and returns its exit code. Returns 0 if it is not running.
        Raises subprocess.TimeoutExpired after STOP_SECONDS; the process is killed then."""
        process = self._process
        if process is None:
            return 0
        process.terminate()
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._forget(process)
        return code

    def kill(self) -> None:
        """Sends SIGKILL, to simulate a crash. Its Postgres goes on; the next start with the same folder stops it."""
        if (process := self._process) is not None:
            process.kill()
            process.wait()
            self._forget(process)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:  # Ctrl-C, too: the process may already be starting
            self.__exit__(None, None, None)
            raise

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        try:
            self.stop()
        finally:
            self._remove()

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdout is not None:
            process.stdout.close()
        self._process = None

    def _remove(self) -> None:
        if not self._temporary or not self.data_dir.exists():
            return
        if self._embedded and (self.data_dir / "postgres" / "postmaster.pid").exists():
            embedded.start(self.data_dir).stop()  # stops the Postgres that a killed collector left behind
        shutil.rmtree(self.data_dir, ignore_errors=True)
