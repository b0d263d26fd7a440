"""`playhead serve` as a process: a clean start, a clean end, and clear words when there can be neither."""

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from playhead_collector import cli, embedded
from playhead_collector.process import CollectorProcess
from playhead_collector.store.postgres.store import connect
from tests.support.readiness import until_ready

PROTOBUF = {"content-type": "application/x-protobuf"}


def batch(trace: str, numbers: range) -> bytes:
    request = ExportTraceServiceRequest()
    scope_spans = request.resource_spans.add().scope_spans.add()
    for number in numbers:
        span = scope_spans.spans.add(name="x", start_time_unix_nano=number, end_time_unix_nano=number + 1)
        span.trace_id, span.span_id = bytes.fromhex(trace), number.to_bytes(8, "big")
    return request.SerializeToString()


# --- starts that fail ------------------------------------------------------------------------------------------------


def test_a_taken_port_is_named_before_anything_is_started(data_dir: Path, capsys: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert cli.serve(port=port, data_dir=data_dir) == cli.FAILED
    said = capsys.readouterr()
    assert said.err == (
        f"playhead: port {port} on 127.0.0.1 is taken: stop what listens there (another collector?), or set "
        "PLAYHEAD_PORT\n"
    )
    assert said.out == ""
    assert list(data_dir.iterdir()) == []


def test_a_database_that_is_not_there_is_named_without_its_password(capsys: pytest.CaptureFixture[str]):
    url = "postgresql://me:secret@127.0.0.1:1/x"
    assert cli.serve(port=0, database_url=url) == cli.FAILED
    said = capsys.readouterr().err
    assert said.startswith("playhead: cannot connect to postgresql://me:***@127.0.0.1:1/x")
    assert "secret" not in said
    assert said.count("\n") == 1


def test_a_bad_setting_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_PORT", "eighty")
    assert cli.serve() == cli.MISUSED
    assert capsys.readouterr().err.startswith("playhead: PLAYHEAD_PORT cannot be 'eighty'")


def test_a_host_that_is_not_ours_is_named(capsys: pytest.CaptureFixture[str]):
    assert cli.serve(host="203.0.113.1", port=0) == cli.FAILED
    assert capsys.readouterr().err.startswith("playhead: cannot listen on 203.0.113.1 port 0 (")


def test_a_second_collector_on_the_same_folder_is_refused(data_dir: Path, capsys: pytest.CaptureFixture[str]):
    with embedded.start(data_dir):
        assert cli.serve(port=0, data_dir=data_dir) == cli.FAILED
    assert "another collector (process" in capsys.readouterr().err


# --- from start to end -----------------------------------------------------------------------------------------------


def test_it_says_where_it_is_and_ends_cleanly_when_asked(data_dir: Path):
    with CollectorProcess(data_dir=data_dir) as collector:
        assert until_ready(collector.url).json() == {"status": "ready"}
        children = psutil.Process(collector.pid).children()
        assert collector.stop() == 0
        _, running = psutil.wait_procs(children, timeout=60)  # some end because the collector has
        assert running == []
    assert not (data_dir / "postgres" / "postmaster.pid").exists()
    assert "Traceback" not in collector.log()


def test_a_human_reads_lines_and_ctrl_c_ends_it(database_url: str):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    env |= {"PLAYHEAD_PORT": "0", "PLAYHEAD_GRPC_PORT": "0", "PLAYHEAD_DATABASE_URL": database_url}
    command = [sys.executable, "-m", "playhead_collector.cli"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGINT)
        rest, log = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "is listening. Stop it with Ctrl-C." in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["collector", "grpc", "docs", "database"]
    assert rest == ""
    assert "Traceback" not in log


def test_what_is_under_way_is_finished_before_it_ends(database_url: str):
    body = batch("5b" * 16, range(1, 20_000))
    with (
        CollectorProcess(database_url=database_url) as collector,
        socket.create_connection(("127.0.0.1", httpx.URL(collector.url).port or 0)) as connection,
    ):
        head = f"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        head += "Content-Type: application/x-protobuf\r\n\r\n"
        connection.sendall(head.encode() + body[: len(body) // 2])
        # Once it counts this request, it is under way.
        while "playhead_requests_reading 1.0" not in httpx.get(f"{collector.url}/metrics", timeout=60).text:
            pass
        stopping = threading.Thread(target=collector.stop)
        stopping.start()
        connection.sendall(body[len(body) // 2 :])
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        stopping.join()


def test_a_request_that_is_too_large_is_answered_and_not_cut_off(database_url: str):
    with CollectorProcess(database_url=database_url, env={"PLAYHEAD_MAX_REQUEST_BYTES": "1 MiB"}) as collector:
        for _ in range(3):
            answer = httpx.post(f"{collector.url}/v1/traces", content=bytes(20 * 2**20), headers=PROTOBUF, timeout=60)
            assert answer.status_code == 413


def test_a_key_is_asked_for(database_url: str):
    with CollectorProcess(
        database_url=database_url, env={"PLAYHEAD_ADMIN_KEY": "k", "PLAYHEAD_LOG_FORMAT": "json"}
    ) as it:
        assert until_ready(it.url).status_code == 200
        assert httpx.get(f"{it.url}/api/v1/runs", timeout=60).status_code == 401
        assert httpx.get(f"{it.url}/api/v1/runs", headers={"authorization": "Bearer k"}, timeout=60).status_code == 200
        it.stop()
        assert [json.loads(line)["level"] for line in it.log().splitlines()]


def test_a_killed_postgres_is_started_again_and_what_was_stored_is_there(data_dir: Path):
    trace = "cd" * 16
    with CollectorProcess(data_dir=data_dir) as it, httpx.Client(base_url=it.url, timeout=30) as client:
        assert client.post("/v1/traces", content=batch(trace, range(1, 4)), headers=PROTOBUF).status_code == 200
        (postmaster,) = [
            process
            for process in psutil.Process(it.pid).children(recursive=True)
            if process.name() == "postgres" and process.ppid() == it.pid
        ]
        postmaster.kill()
        # Not /readyz alone: what Postgres answered just before it was killed counts for a moment.
        while "starting it again" not in it.log():
            assert client.get("/readyz").status_code in {200, 503}
        while (status := client.get(f"/api/v1/runs/{trace}").status_code) != 200:
            assert status == 503
        while (status := client.get("/readyz").status_code) != 200:
            assert status == 503
        assert client.get(f"/api/v1/runs/{trace}").status_code == 200


# --- crashes ---------------------------------------------------------------------------------------------------------


def test_kill_9_amid_batches_loses_nothing_acknowledged_and_stores_nothing_twice(data_dir: Path):
    trace, size, kill_after = "ab" * 16, 50, 30
    acknowledged: list[int] = []
    enough = threading.Event()

    def send(url: str, numbers: range) -> None:
        with httpx.Client(timeout=60) as client:
            for number in numbers:
                first = number * size + 1
                try:
                    body = batch(trace, range(first, first + size))
                    answer = client.post(f"{url}/v1/traces", content=body, headers=PROTOBUF)
                except httpx.TransportError:
                    return
                if answer.status_code == 200:
                    acknowledged.append(number)
                if len(acknowledged) >= kill_after:
                    enough.set()

    collector = CollectorProcess(data_dir=data_dir).start()
    senders = [threading.Thread(target=send, args=(collector.url, range(n, 4_000, 4))) for n in range(4)]
    for sender in senders:
        sender.start()
    assert enough.wait(60)
    collector.kill()
    for sender in senders:
        sender.join()

    with CollectorProcess(data_dir=data_dir) as again:
        before = stored_spans(again, trace)
        known = {number * size + n for number in acknowledged for n in range(1, size + 1)}
        assert known <= set(before)
        assert len(before) == len(set(before))
        everything = max(acknowledged) + 5
        for number in range(everything):  # what an exporter does that had no answer: it sends again
            first = number * size + 1
            body = batch(trace, range(first, first + size))
            assert httpx.post(f"{again.url}/v1/traces", content=body, headers=PROTOBUF, timeout=60).status_code == 200
        after = stored_spans(again, trace)
        assert sorted(after) == list(range(1, everything * size + 1))


def stored_spans(collector: CollectorProcess, trace: str) -> list[int]:
    async def read() -> list[int]:
        store = await connect(collector.database, pool_size=1)
        try:
            return [int(span.span_id, 16) for span in await store.spans.read(1, trace)]
        finally:
            await store.close()

    return asyncio.run(read())


# --- clients that go away --------------------------------------------------------------------------------------------


def test_clients_that_send_ahead_and_go_away_do_not_fill_the_log(database_url: str):
    ahead = b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 150
    gone = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection, also with answers under way
    with CollectorProcess(database_url=database_url) as it:
        url = httpx.URL(it.url)
        for requests in [ahead, ahead[: len(ahead) // 3], ahead[:-20]] * 8:
            with socket.create_connection(("127.0.0.1", url.port or 0)) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, gone)
                with suppress(ConnectionError):
                    client.sendall(requests)
                    client.recv(100)
        assert httpx.get(f"{it.url}/api/v1/runs", timeout=60).status_code == 200
        assert it.stop() == 0
        assert "Traceback" not in it.log()
        assert len(it.log().splitlines()) < 10
