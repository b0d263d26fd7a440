"""`playhead serve`: the collector in this process, from its settings to a clean stop; and `playhead migrate`.

    settings → port → (embedded Postgres → schema → store → application)=app.py → uvicorn → stopped in reverse order

A failed start writes one sentence with the reason to stderr and leaves nothing running. stdout gets the addresses, as
text or as one line of JSON, once they answer; everything else goes to the log on stderr.
"""

import argparse
import asyncio
import errno
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import orjson
import uvicorn

from playhead_collector.app import (
    RunningCollector,
    bring_to_newest_schema,
    key_source,
    open_collector,
    rewrap,
    version,
)
from playhead_collector.errors import BadSetting, CannotStart, CollectorError, PortTaken
from playhead_collector.logs import configure_logging
from playhead_collector.network.grpc_server import CannotBind, GrpcServer, Servicer, bind
from playhead_collector.network.guard import Limits, limits_of
from playhead_collector.network.protocol import protocol_of
from playhead_collector.settings import CollectorSettings, load
from playhead_collector.store import schema

if sys.platform != "win32":
    import resource

log = logging.getLogger(__name__)
STOPPED, FAILED, MISUSED = 0, 1, 2
# Time for requests in progress at the stop: as long as an exporter waits for its answer, which is 10 s.
DRAIN_SECONDS = 10
# Threads decode requests and project runs beside the event loop. Python lets one of them run for 5 ms before another
# may, and an answer needs the event loop some ten times.
_THREAD_SWITCH_SECONDS = 0.001


def serve(*, as_json: bool = False, **options: Any) -> int:
    """Runs a collector until SIGINT or SIGTERM. Returns the exit code. `options` are settings by field name."""
    try:
        settings = load(**options)
        configure_logging(settings.log_format, settings.log_level)
        sys.setswitchinterval(_THREAD_SWITCH_SECONDS)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(settings, as_json))
            log.info("stopped")
    except CollectorError as error:
        sys.stderr.write(f"playhead: {error}\n")
        return MISUSED if isinstance(error, BadSetting) else FAILED
    except (asyncio.CancelledError, KeyboardInterrupt):  # stopped during the start
        return STOPPED
    return STOPPED


def print_migrations() -> int:
    """Writes the SQL of every revision to stdout, for operators who change schemas only with their own tools. Returns
    the exit code."""
    from playhead_collector.store import migrate  # noqa: PLC0415 - loads Alembic, which `serve` seldom needs

    sys.stdout.write(migrate.offline_sql())
    return STOPPED


def migrate_database(**options: Any) -> int:
    """Migrates the configured database to this build's schema. Returns the exit code."""
    try:
        settings = load(**options)
        if settings.database_url is None:
            raise BadSetting("PLAYHEAD_DATABASE_URL is not set: `playhead serve` migrates its own Postgres by itself")
        asyncio.run(bring_to_newest_schema(settings.database_url))
    except CollectorError as error:
        sys.stderr.write(f"playhead: {error}\n")
        return MISUSED if isinstance(error, BadSetting) else FAILED
    sys.stdout.write(f"the database is at schema {schema.head()}\n")
    return STOPPED


def rewrap_keys(old_key_file: Path | None, old_command: str | None, **options: Any) -> int:
    """Wraps the keys of encrypted projects with the operator's key of the settings instead of the old one. Returns the
    exit code."""
    try:
        settings = load(**options)
        old = key_source(
            replace(settings, encryption_key=None, encryption_key_file=old_key_file, encryption_command=old_command)
        )
        count = asyncio.run(rewrap(settings, old))
    except CollectorError as error:
        sys.stderr.write(f"playhead: {error}\n")
        return MISUSED if isinstance(error, BadSetting) else FAILED
    sys.stdout.write(f"wrapped the keys of {count} projects with the new key\n")
    return STOPPED


async def _serve(settings: CollectorSettings, as_json: bool) -> None:
    stopping = _SignalHandling()
    with stopping.on_signals(), listen(settings.host, settings.port) as listener, hold_grpc_port(settings) as held:
        async with open_collector(settings) as collector:
            make_room(collector.guard.limits, with_grpc=held is not None)
            warn_if_unprotected(listener, needs_key=collector.needs_key)
            grpc = await start_grpc(settings, held, collector.grpc)
            addresses = Addresses(url_of(listener), None if grpc is None else url_of(listener, grpc.port))
            started = partial(announce, settings, collector.database, addresses, as_json)
            stopping.server = _Server(_uvicorn_config(collector, grpc), started, collector.streams.close, grpc)
            if collector.supervision is not None:
                collector.supervision.add_done_callback(stopping.give_up)
            await stopping.server.serve(sockets=[listener])
            if collector.supervision is not None and collector.supervision.done():
                collector.supervision.result()  # raises the error with which it ended


# --- the network side ------------------------------------------------------------------------------------------------

# File descriptors for the pool, the listener, logs, the embedded Postgres, and libraries that are loaded late.
_OTHER_DESCRIPTORS = 200


def make_room(limits: Limits, *, with_grpc: bool) -> None:
    """Raises this process's limit of open files as far as permitted, so that there is one for each connection. Logs a
    warning if the limit stays too low."""
    if sys.platform == "win32":  # Windows has no such limit
        return
    wanted = limits.max_connections + limits.reserve + _OTHER_DESCRIPTORS
    if with_grpc:  # which may have as many connections as HTTP
        wanted += limits.max_connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):  # macOS refuses more than its kernel permits, also if the hard limit is infinite
        most = soft
    if most < wanted:
        log.warning(
            "this process may open %s files and needs %s for PLAYHEAD_MAX_CONNECTIONS=%s: raise its limit (ulimit -n), "
            "or lower that number",
            most,
            wanted,
            limits.max_connections,
        )


@contextmanager
def listen(host: str, port: int, variable: str = "PLAYHEAD_PORT") -> Generator[socket.socket]:
    """Opens the listening socket, before anything else is started. Raises PortTaken or CannotStart; their messages name
    `variable`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"port {port} on {host} is taken: stop what listens there (another collector?), or set {variable}"
            ) from None
        raise CannotStart(
            f"cannot listen on {host} port {port} ({error.strerror}): set PLAYHEAD_HOST and {variable}"
        ) from None
    with listener:
        yield listener


@contextmanager
def hold_grpc_port(settings: CollectorSettings) -> Generator[socket.socket | None]:
    """Opens a socket that holds the gRPC port until `start_grpc`. None: gRPC is off. Raises PortTaken, CannotStart."""
    if settings.grpc_port is None:
        yield None
        return
    with listen(settings.host, settings.grpc_port, "PLAYHEAD_GRPC_PORT (off: none)") as held:
        yield held


async def start_grpc(
    settings: CollectorSettings, held: socket.socket | None, servicers: Sequence[Servicer]
) -> GrpcServer | None:
    """Starts the gRPC server and returns it when it answers; None if gRPC is off. Raises CannotStart.

    gRPC's library accepts no open socket, so the port is free for a moment before the server takes it.
    """
    if held is None:
        return None
    host, port = held.getsockname()[:2]
    held.close()
    try:
        grpc = bind(host, port, limits_of(settings), settings.max_request_bytes)
    except CannotBind as error:
        raise CannotStart(f"cannot listen on {host} port {port} ({error}): set PLAYHEAD_GRPC_PORT") from None
    await grpc.start(servicers)
    return grpc


def warn_if_unprotected(listener: socket.socket, *, needs_key: bool) -> None:
    """Logs a warning if the collector listens on a network without a key, so that anyone there can read what was
    recorded."""
    host = listener.getsockname()[0]
    if not needs_key and not _is_loopback(host):
        log.warning("listening on %s without a key: whoever reaches it reads prompts; set PLAYHEAD_ADMIN_KEY", host)


def url_of(listener: socket.socket, port: int | None = None) -> str:
    """Returns the URL for clients on this machine, with the listener's port or another `port` of the same address."""
    host, own_port = listener.getsockname()[:2]
    port = own_port if port is None else port
    if ip_address(host).is_unspecified:  # all addresses: any of them will do
        host = "127.0.0.1" if listener.family == socket.AF_INET else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_loopback(host: str) -> bool:
    return ip_address(host).is_loopback


def _uvicorn_config(collector: RunningCollector, grpc: GrpcServer | None) -> uvicorn.Config:
    return uvicorn.Config(
        collector.app,
        http=protocol_of(collector.guard, None if grpc is None else grpc.port),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # `serve.trusted_proxies` reads them
        timeout_keep_alive=math.ceil(collector.guard.limits.idle_seconds),
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling: `_SignalHandling` handles signals also before it starts and after it
    ends.

    Calls `started` when the server has started, and `stopping` when it begins to stop: it waits for the answers in
    progress, and live streams would not end by themselves.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        started: Callable[[], None],
        stopping: Callable[[], None],
        grpc: GrpcServer | None,
    ) -> None:
        super().__init__(config)
        self._tell_started = started
        self._tell_stopping = stopping
        self._grpc = grpc

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._tell_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stops HTTP and gRPC at the same time: each accepts no more requests and finishes those in progress."""
        self._tell_stopping()
        async with asyncio.TaskGroup() as stopping:
            if self._grpc is not None:
                stopping.create_task(self._grpc.stop(0 if self.force_exit else DRAIN_SECONDS))
            await super().shutdown(sockets)
            if self._grpc is not None and self.force_exit:
                await self._grpc.stop(0)


@dataclass(slots=True)
class _SignalHandling:
    """Handles signals. Before the server runs, a signal cancels the start; later, it stops the server after the
    requests in progress; a second signal stops it at once."""

    server: uvicorn.Server | None = field(default=None)

    def give_up(self, _: object) -> None:
        """Stops the server, because something that the collector needs has failed for good."""
        if self.server is not None:
            self.server.should_exit = True

    @contextmanager
    def on_signals(self) -> Generator[None]:
        loop, main = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if self.server is not None:
                log.info("stopping: what is under way is finished first; the same signal again ends it at once")
                self.server.force_exit = self.server.should_exit
                self.server.should_exit = True
            elif main is not None:
                main.cancel()

        def handle(*_: object) -> None:
            loop.call_soon_threadsafe(stop)

        before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop  # noqa: PLC0415 - not available on Windows

    return uvloop.new_event_loop


# --- what is written to stdout ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Addresses:
    """URLs for HTTP and for gRPC. `grpc` is None if gRPC is off."""

    http: str
    grpc: str | None


def announce(settings: CollectorSettings, database: str, addresses: Addresses, as_json: bool) -> None:
    """Writes the addresses, the data folder and the database to stdout, as text or JSON."""
    report = {
        "collector": addresses.http,
        "grpc": addresses.grpc,
        "docs": f"{addresses.http}/api/v1/docs",
        "data": None if settings.database_url else str(settings.data_dir.expanduser().resolve()),
        "database": database,
        "pid": os.getpid(),
    }
    if as_json or settings.log_format == "json":
        text = orjson.dumps(report).decode()
    else:
        lines = [f"  {name:10} {value}" for name, value in report.items() if value is not None and name != "pid"]
        text = "\n".join([f"Playhead {version()} is listening. Stop it with Ctrl-C.", *lines])
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    log.info("listening on %s", addresses.http)


# --- python -m playhead_collector.cli ---------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a collector with the settings of the environment, for those who start it without the `playhead` command.
    Returns the exit code. `arguments` None: those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m playhead_collector.cli",
        description="Start a collector. Its settings are environment variables; `playhead serve --help` names them.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="Print the addresses as JSON.")
    return serve(as_json=parser.parse_args(arguments).json)


if __name__ == "__main__":
    sys.exit(main())
