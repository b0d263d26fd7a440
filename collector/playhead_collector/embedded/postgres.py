"""Starts, watches and stops the embedded Postgres: one collector per data directory, one Postgres per collector.

While a collector runs, `supervise` starts Postgres again when it ends by itself.
"""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Protocol, Self

import psutil

from playhead_collector.embedded import cluster as on_disk
from playhead_collector.errors import AlreadyRunning, EmbeddedPostgresFailed

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

# Long, because after a crash Postgres first replays up to `max_wal_size` of its log, and must not be interrupted.
START_SECONDS = 300
# A fast shutdown rolls back transactions and writes a checkpoint, which may take a while.
STOP_SECONDS = 60
# Above this size, the next start begins a new log file.
LOG_BYTES = 10 * 2**20

# fsync and synchronous_commit stay on: acknowledged data is on disk.
TUNING: Mapping[str, str] = MappingProxyType(
    {
        "listen_addresses": "",
        "port": "5432",
        "unix_socket_permissions": "0700",
        "shared_buffers": "256MB",  # used only as it fills; more would be too much for a laptop
        "work_mem": "16MB",
        "maintenance_work_mem": "128MB",
        "max_connections": "50",  # one collector, and a few people with psql
        "max_wal_size": "2GB",  # under bulk ingest, the default of 1 GB forces a checkpoint every few seconds
        "checkpoint_timeout": "15min",
        "wal_level": "minimal",  # nothing replicates from here
        "max_wal_senders": "0",
        "random_page_cost": "1.1",  # solid-state disks
        "jit": "off",  # our queries are short; compiling them takes longer than running them
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_checkpoints": "off",
        "log_min_error_statement": "panic",  # a failing statement contains values
        "log_error_verbosity": "terse",  # and so does an error's detail
    }
)


class EmbeddedPostgres:
    """A running Postgres. Stopped by `stop()`, by the end of its `with` block or of the interpreter, whichever comes
    first."""

    def __init__(self, dsn: str, running: "_Running") -> None:
        self.dsn = dsn
        self._running = running
        self._changing = threading.Lock()
        self._end = weakref.finalize(self, _shut_down, running, os.getpid())

    @property
    def pid(self) -> int:
        """The postmaster's process id; it changes with `restart`."""
        return self._running.process.pid

    @property
    def is_running(self) -> bool:
        """Whether the postmaster runs."""
        return self._running.process.poll() is None

    def restart(self) -> None:
        """Starts Postgres again at the same address if it has ended. Does nothing after `stop()`. Blocks.

        Raises EmbeddedPostgresFailed.
        """
        with self._changing:
            if self._end.alive and not self.is_running:
                _relaunch(self._running)

    def stop(self) -> None:
        """Stops Postgres. Afterwards everything is on disk, no process is left, and the data directory is free."""
        with self._changing:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.stop()


@dataclass(slots=True)
class _Running:
    """The state that is needed to stop Postgres, and to start it again."""

    process: psutil.Popen
    cluster: Path
    socket_dir: Path
    account: on_disk.OsAccount
    options: Mapping[str, str]
    lock: int


# --- starting --------------------------------------------------------------------------------------------------------


def start(data_dir: Path, *, options: Mapping[str, str] = MappingProxyType({})) -> EmbeddedPostgres:
    """Starts Postgres on `data_dir`, creating missing folders and files; returns when it answers. Blocks: 0.6 s the
    first time.

    A Postgres that an earlier, killed collector left running there is stopped first. `options` are Postgres settings
    that override ours. Raises AlreadyRunning, EmbeddedPostgresFailed.
    """
    if sys.platform == "win32":
        raise EmbeddedPostgresFailed("there is no embedded Postgres for Windows: set PLAYHEAD_DATABASE_URL")
    try:
        data_dir = data_dir.expanduser().resolve()
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = _locked_file(data_dir)
    except OSError as error:
        raise EmbeddedPostgresFailed(
            f"cannot use {data_dir} ({error.strerror}): set PLAYHEAD_DATA_DIR to a folder that you may write to"
        ) from error
    try:
        return _start_locked(data_dir, lock, options)
    except BaseException as error:
        os.close(lock)
        if isinstance(error, OSError):
            raise EmbeddedPostgresFailed(
                f"cannot start Postgres on {data_dir} ({error}): mend that, or set PLAYHEAD_DATABASE_URL"
            ) from error
        raise


def _start_locked(data_dir: Path, lock: int, options: Mapping[str, str]) -> EmbeddedPostgres:
    cluster = data_dir / "postgres"
    account = on_disk.account_for(cluster)
    on_disk.check_way(account, on_disk.binaries() / "postgres", cluster)
    if not cluster.exists():
        on_disk.create(cluster, account)
    _end_leftover(cluster)
    socket_dir = on_disk.socket_dir(cluster, account)
    process = _launch(cluster, socket_dir, account, options)
    try:
        _wait_until_ready(process, cluster)
    except BaseException:
        _end_process(process)
        on_disk.remove_socket_dir(socket_dir)
        raise
    running = _Running(process, cluster, socket_dir, account, options, lock)
    return EmbeddedPostgres(on_disk.dsn_of(str(socket_dir)), running)


def _relaunch(running: _Running) -> None:
    try:
        _end_leftover(running.cluster)  # waits for its children: a second Postgres beside them would do harm
        if not running.socket_dir.exists():
            running.socket_dir.mkdir(mode=0o700)
            os.chown(running.socket_dir, running.account.uid, running.account.gid)
        running.process = _launch(running.cluster, running.socket_dir, running.account, running.options)
    except OSError as error:
        raise EmbeddedPostgresFailed(
            f"cannot start Postgres again on {running.cluster} ({error}): mend that, or set PLAYHEAD_DATABASE_URL"
        ) from error
    _wait_until_ready(running.process, running.cluster)


def _locked_file(data_dir: Path) -> int:
    """Returns the descriptor of the locked file; closing it releases the lock. It is an flock, which the kernel
    releases however this process ends. Raises AlreadyRunning."""
    lock = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 20).decode().strip() or "unknown"
        os.close(lock)
        raise AlreadyRunning(
            f"another collector (process {holder}) is running on {data_dir}: stop it, or set PLAYHEAD_DATA_DIR to "
            "another folder"
        ) from None
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    return lock


def _launch(cluster: Path, socket_dir: Path, account: on_disk.OsAccount, options: Mapping[str, str]) -> psutil.Popen:
    postgres = on_disk.binaries(int((cluster / "PG_VERSION").read_text())) / "postgres"
    settings = {**TUNING, "unix_socket_directories": f'"{socket_dir}"', **options}
    log_path = cluster.with_name("postgres.log")
    begin_afresh = log_path.exists() and log_path.stat().st_size > LOG_BYTES
    with log_path.open("wb" if begin_afresh else "ab") as output:
        return psutil.Popen(
            [str(postgres), "-D", str(cluster), *(f"--{name}={value}" for name, value in settings.items())],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cluster,
            env=on_disk.environment(),
            start_new_session=True,  # Ctrl-C in a terminal must not reach Postgres: we stop it when we have finished
            **account.popen_options(),
        )


def _wait_until_ready(process: psutil.Popen, cluster: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        words = _pid_file(cluster)
        if words[:1] == [str(process.pid)] and words[7:8] == ["ready"]:
            return
        time.sleep(0.01)
    log_lines = cluster.with_name("postgres.log").read_text(errors="replace").splitlines()[-3:]
    raise EmbeddedPostgresFailed(
        f"Postgres did not start on {cluster} ({' | '.join(log_lines)}): mend that, or set PLAYHEAD_DATABASE_URL"
    )


def _pid_file(cluster: Path) -> list[str]:
    """Returns the lines of postmaster.pid: 0 is the process id, 4 the folder of the socket, 7 the state. Empty if there
    is no file."""
    try:
        return [line.strip() for line in (cluster / "postmaster.pid").read_text().splitlines()]
    except FileNotFoundError:
        return []


# --- ending ----------------------------------------------------------------------------------------------------------


def _end_leftover(cluster: Path) -> None:
    """Stops the Postgres that an earlier, killed collector left running here. Nobody else can use it, since we hold the
    lock. Raises EmbeddedPostgresFailed."""
    words = _pid_file(cluster)
    if not words:
        return
    # Found by working directory, not by process id: after a reboot, another program's process may have this id.
    here = [p for p in psutil.process_iter(["cwd"]) if p.info["cwd"] == str(cluster)]
    for postmaster in (p for p in here if str(p.pid) == words[0]):
        log.info("ending the Postgres (process %s) that an earlier collector left on %s", postmaster.pid, cluster)
        _end_process(postmaster)
    # Without a postmaster, the other processes end by themselves. While one is alive, a second Postgres would corrupt
    # the data.
    alive = [str(p.pid) for p in here if not _has_ended(p, STOP_SECONDS)]
    if alive:
        raise EmbeddedPostgresFailed(f"an earlier Postgres on {cluster} does not end: kill process {', '.join(alive)}")
    for file_name in ("postmaster.pid", f"{on_disk.SOCKET_NAME}.lock"):
        (cluster / file_name).unlink(missing_ok=True)
    if len(words) > 4:
        on_disk.remove_socket_dir(Path(words[4]))


def _end_process(process: psutil.Process) -> None:
    # Fast shutdown, then immediate: that loses no data either, but the next start has to replay the log.
    for number, seconds in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
        if _has_ended(process, seconds):
            return
        log.warning("Postgres (process %s) did not end on %s", process.pid, number.name)


def _has_ended(process: psutil.Process, within_seconds: float) -> bool:
    """Waits until the process has ended; returns False after `within_seconds`. A zombie counts as ended: in a container
    there may be no parent to collect it."""
    deadline = time.monotonic() + within_seconds
    while True:
        try:
            # poll() collects our own child. Popen must learn that it has ended, or it warns that the process still
            # runs.
            ended = process.poll() is not None if isinstance(process, psutil.Popen) else _is_dead(process)
        except psutil.NoSuchProcess:
            return True
        if ended or time.monotonic() > deadline:
            return ended
        time.sleep(0.01)


def _is_dead(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def _shut_down(running: _Running, owner: int) -> None:
    if os.getpid() != owner:  # a forked child ends; Postgres belongs to its parent
        return
    _end_process(running.process)
    on_disk.remove_socket_dir(running.socket_dir)
    fcntl.flock(running.lock, fcntl.LOCK_UN)  # closing is not enough if a forked child has the file open, too
    os.close(running.lock)


# --- supervising -----------------------------------------------------------------------------------------------------

# Checks so often cost nothing, and exporters, which retry for a minute or more, notice only a pause.
LOOK_EVERY_SECONDS: Final = 0.5
# If Postgres ends so often, starting it again does not help: the disk is full, data is damaged, or memory is short.
MAX_RESTARTS: Final = 5
WITHIN_SECONDS: Final = 600.0


class Restartable(Protocol):
    """A process that is supervised."""

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        ...

    def restart(self) -> None:
        """Starts it again if it has ended. Blocks. Raises EmbeddedPostgresFailed."""
        ...


async def supervise(
    postgres: Restartable,
    *,
    clock: Callable[[], float] = time.monotonic,
    every_seconds: float = LOOK_EVERY_SECONDS,
) -> None:
    """Starts `postgres` again whenever it has ended, until this is cancelled. Raises EmbeddedPostgresFailed when
    Postgres cannot be kept running. `clock` gives seconds."""
    restarts: list[float] = []
    while True:
        await asyncio.sleep(every_seconds)
        if postgres.is_running:
            continue
        now = clock()
        restarts = [restart for restart in restarts if restart > now - WITHIN_SECONDS]
        if len(restarts) >= MAX_RESTARTS:
            raise EmbeddedPostgresFailed(
                f"Postgres ended {MAX_RESTARTS + 1} times in {WITHIN_SECONDS / 60:.0f} minutes: see postgres.log in "
                "the data directory, mend that, and start again"
            )
        restarts.append(now)
        log.error("Postgres has ended by itself: starting it again; requests are answered with 503 until it runs")
        await asyncio.to_thread(postgres.restart)
        log.warning("Postgres runs again")
