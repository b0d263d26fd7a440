"""A collector in a process of its own, for those who need one for a while: tests, `playhead demo`.

    with CollectorProcess() as collector:
        configure(endpoint=collector.url)

Without a database URL it brings its own Postgres, in a folder that is gone afterwards.
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

# It drains, and Postgres writes a checkpoint.
STOP_SECONDS = 60


class CollectorProcess:
    """`url` answers from `start()`, or the beginning of the `with` block, to `stop()`, or its end.

    `grpc_url` is where it takes OTLP over gRPC; None: nowhere. `database` is its database's URL, without a password;
    that of its own Postgres needs none.

    `env` are further settings, by their environment variables. A `data_dir` that is given is kept, so that another
    process can go on with it; by default a new folder is made and removed.
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
        """Answers when this returns. Raises CannotStart with what it said."""
        # Modules are found where we find them, also in a checkout that is not installed.
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
        said = orjson.loads(line)
        self.url, self.database, self.pid = said["collector"], said["database"], said["pid"]
        self.grpc_url = said["grpc"]
        return self

    @property
    def log_path(self) -> Path:
        """Where it logs."""
        return self.data_dir / "collector.log"

    def log(self) -> str:
        """What it has logged so far."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> int:
        """Everything under way is finished; returns its exit code. Stopping twice changes nothing."""
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
        """SIGKILL: what a crash looks like. Its Postgres is left behind; the next start on the folder ends that."""
        if (process := self._process) is not None:
            process.kill()
            process.wait()
            self._forget(process)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:  # Ctrl-C, too: by then it may be on its way up
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
            embedded.start(self.data_dir).stop()  # ends what a killed collector left behind
        shutil.rmtree(self.data_dir, ignore_errors=True)
