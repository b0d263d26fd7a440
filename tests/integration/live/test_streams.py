"""Live streams of a real collector: nothing is missed, and nothing comes twice, also with filters and limits."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import orjson
import pytest
from httpx import Response

from playhead.client import AsyncClient, Client
from playhead.errors import ClientError
from playhead.model.span import STATUS_ERROR, Span
from playhead.model.times import rfc3339
from playhead.outbound.otlp import traces_request
from playhead_collector.process import CollectorProcess
from tests.integration.live.growing import grow_and_end
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, post_packed, send, send_content

PATIENCE = 60.0


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    env = {"PLAYHEAD_STREAM_HEARTBEAT_SECONDS": "0.2", "PLAYHEAD_MAX_CONNECTIONS_PER_CLIENT": "1000"}
    with CollectorProcess(database_url=module_database_url, env=env) as running:
        yield running


class Cutting(httpx.HTTPTransport):
    """Cuts streams off in the midst of a message, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times
        self.connections = 0
        self._random = random.Random(7)

    def handle_request(self, request: httpx.Request) -> Response:
        response = super().handle_request(request)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            self.connections += 1
            if self.left:
                self.left -= 1
                stream: Any = response.stream
                response.stream = _CutStream(stream, self._random.randrange(200, 6_000))
        return response


class _CutStream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, after: int) -> None:
        self._stream, self._left = stream, after

    def __iter__(self) -> Iterator[bytes]:
        for data in self._stream:
            yield data[: self._left]
            self._left -= len(data)
            if self._left <= 0:
                raise httpx.ReadError("cut off")

    def close(self) -> None:
        self._stream.close()


class CuttingAsync(httpx.AsyncHTTPTransport):
    """`Cutting`, for a client whose answers are awaited."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times
        self._random = random.Random(7)

    async def handle_async_request(self, request: httpx.Request) -> Response:
        response = await super().handle_async_request(request)
        if self.left and response.headers.get("content-type", "").startswith("text/event-stream"):
            self.left -= 1
            stream: Any = response.stream
            response.stream = _CutAsyncStream(stream, self._random.randrange(200, 6_000))
        return response


class _CutAsyncStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, after: int) -> None:
        self._stream, self._left = stream, after

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            yield data[: self._left]
            self._left -= len(data)
            if self._left <= 0:
                raise httpx.ReadError("cut off")

    async def aclose(self) -> None:
        await self._stream.aclose()


def test_a_client_that_is_cut_off_ten_times_has_every_event_once_and_in_order(collector: CollectorProcess):
    run = MadeUpRun(25, live=True)
    send(collector.url, [run])
    cutting = Cutting(10)
    with Client(collector.url, transport=cutting) as client, ThreadPoolExecutor(1) as thread:
        seen: list[str] = []
        growing = None
        for event in client.watch(run.run):
            seen.append(event["id"])
            if growing is None:
                growing = thread.submit(grow_and_end, collector.url, run, 30)
        assert growing is not None
        growing.result()
        stored = [event["id"] for event in client.events(run.run)]
    assert cutting.left == 0
    assert cutting.connections >= 11
    assert seen == stored
    assert len(seen) > 200


async def test_an_awaited_client_that_is_cut_off_ten_times_has_every_event_once_and_in_order(
    collector: CollectorProcess,
):
    run = MadeUpRun(25, live=True)
    send(collector.url, [run])
    cutting = CuttingAsync(10)
    async with AsyncClient(collector.url, transport=cutting) as client:
        seen: list[str] = []
        growing: asyncio.Task[None] | None = None
        async for event in client.watch(run.run):
            seen.append(event["id"])
            growing = growing or asyncio.create_task(asyncio.to_thread(grow_and_end, collector.url, run, 30))
        assert growing is not None
        await growing
        stored = [event["id"] async for event in client.events(run.run)]
    assert cutting.left == 0
    assert seen == stored
    assert len(seen) > 200


def test_late_events_come_once_and_those_that_moved_are_told(collector: CollectorProcess):
    run = MadeUpRun(6, live=True)
    first, held_back = run.spans[:5], run.spans[5:7]
    rest = run.spans[7:]
    send_content(collector.url, [run])
    with (
        httpx.Client(base_url=collector.url, timeout=PATIENCE, trust_env=False) as http,
        Client(collector.url) as client,
    ):

        def post(spans: list[Span]) -> None:
            post_packed(http, "/v1/traces", packed(traces_request(spans)), PROTOBUF)

        post(first + rest)
        before = [event["id"] for event in client.events(run.run)]
        seen: list[str] = []
        moved: list[int] = []
        for event in client.watch(run.run, on_moved=lambda said: moved.append(said["from"])):
            seen.append(event["id"])
            if len(seen) == len(before):
                assert seen == before
                post(held_back)
                after = [each["id"] for each in client.events(run.run)]
            elif len(seen) > len(before) and set(after) <= set(seen):
                break
        assert len(seen) == len(set(seen))
        # The late tool's messages are events of its own now; before, they were those of the model call after it.
        assert set(seen) - set(after) < set(before[moved[0] - 1 :])
        late = [name for name in after if name not in before]
        assert late
        assert [name for name in seen if name in late] == late
        assert moved == [after.index(late[0]) + 1]


def test_all_runs_are_followed_from_now_on_and_from_the_last_id(collector: CollectorProcess):
    earlier, later = MadeUpRun(3), [MadeUpRun(2 + n) for n in range(3)]
    send(collector.url, [earlier])
    with Client(collector.url) as client, httpx.Client(base_url=collector.url, trust_env=False, timeout=60) as http:
        assert client.run(earlier.run)["events"] > 10
        with http.stream("GET", "/api/v1/runs/stream", timeout=PATIENCE) as response:
            lines = response.iter_lines()
            assert next(lines) == "retry: 1000"
            send(collector.url, later)
            ids, seen = [""], list[tuple[str, int]]()
            for line in lines:
                name, _, value = line.partition(": ")
                if name == "id":
                    ids.append(value)
                elif name == "data":
                    event = orjson.loads(value)
                    seen.append((event["run"], event["seq"]))
                    if len(seen) == 20:
                        break
        with http.stream(
            "GET", "/api/v1/runs/stream", headers={"last-event-id": ids[-1]}, timeout=PATIENCE
        ) as response:
            expected = {run.run: client.run(run.run)["events"] for run in later}
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                if name == "data":
                    event = orjson.loads(value)
                    seen.append((event["run"], event["seq"]))
                if len(seen) == sum(expected.values()):
                    break
    assert len(set(seen)) == len(seen)
    assert {run for run, _ in seen} == expected.keys()
    for run, last in expected.items():
        assert [seq for each, seq in seen if each == run] == list(range(1, last + 1))


def test_a_stream_is_filtered_and_limited_and_says_why_it_ends(collector: CollectorProcess):
    run = MadeUpRun(12)
    send(collector.url, [run])
    with Client(collector.url) as client:
        calls = [event["seq"] for event in client.events(run.run, kinds=["tool_called"])]
        assert [event["seq"] for event in client.watch(run.run, kinds=["tool_called"])] == calls
        assert [event["seq"] for event in client.watch(run.run[:20], kinds=["tool_called"], limit=3)] == calls[:3]
        assert [event["seq"] for event in client.watch(run.run, after=calls[5], kinds=["tool_called"])] == calls[6:]
        shown = next(iter(client.watch(run.run, kinds=["tool_called"], preview=20)))
        assert shown.get("previews", {}).get("arguments") == '{"case":0}'
        assert "previews" not in next(iter(client.watch(run.run)))
        with pytest.raises(ClientError, match="no run"):
            list(client.watch("f" * 32))
    streamed = {"accept": "text/event-stream"}
    with httpx.Client(base_url=f"{collector.url}/api/v1/runs/{run.run}", trust_env=False, timeout=PATIENCE) as http:
        whole = http.get("/events", headers=streamed)
        assert whole.headers["content-type"].startswith("text/event-stream")
        *_, last = whole.text.strip().split("\n\n")
        assert last.splitlines()[1:] == [
            "event: end", 'data: {"reason":"ended","reconnect":false,"status":"completed"}'
        ]  # fmt: skip
        last_id = last.splitlines()[0].removeprefix("id: ")
        assert http.get("/events", headers={**streamed, "last-event-id": last_id}).status_code == 204
        limited = http.get("/events?limit=2", headers=streamed).text
        assert limited.count("\ndata: ") == 3
        assert '"reason":"limit"' in limited
        assert http.get("/events", headers={**streamed, "last-event-id": "x"}).status_code == 400
        assert http.get("/events?cursor=3", headers=streamed).status_code == 400
        assert http.get("/events?nonsense=3", headers=streamed).status_code == 400
        assert http.get("/events").json()["items"]


FILTERS: list[dict[str, str]] = [
    {"kinds": "tool_called,tool_failed"},
    {"priority": "critical"},
    {"kinds": "tool_failed,run_completed", "priority": "critical"},
    {},
]


def _by_portions(http: httpx.Client, path: str, params: Mapping[str, str], most: int) -> list[tuple[str, int]]:
    """Run and seq of up to so many events, by a connection for every three of them."""
    found: list[tuple[str, int]] = []
    headers = {"accept": "text/event-stream"}
    while len(found) < most:
        answer = http.get(path, params={**params, "limit": min(3, most - len(found))}, headers=headers)
        if answer.status_code == 204:
            break
        lines = answer.raise_for_status().text.splitlines()
        events = [orjson.loads(line[6:]) for line in lines if line.startswith('data: {"actor"')]
        found += [(event["run"], event["seq"]) for event in events]
        headers["last-event-id"] = [line[4:] for line in lines if line.startswith("id: ")][-1]
        if '"reason":"ended"' in lines[-2]:
            break
    return found


@pytest.fixture(scope="module")
def failing(collector: CollectorProcess) -> tuple[list[MadeUpRun], str]:
    """Runs in which some calls failed, and the time just before they were sent."""
    runs = [MadeUpRun(4 + n) for n in range(3)]
    for run in runs:
        for span in run.spans[2::4]:
            span.status = STATUS_ERROR
    with Client(collector.url) as client:
        before = rfc3339(time.time_ns())
        send(collector.url, runs)
        for run in runs:
            client.run(run.run)  # projects it
    return runs, before


@pytest.mark.parametrize("where", FILTERS)
def test_a_filtered_stream_of_a_run_has_each_event_once_however_often_it_is_limited(
    collector: CollectorProcess, failing: tuple[list[MadeUpRun], str], where: dict[str, str]
):
    run = failing[0][-1].run
    with httpx.Client(base_url=f"{collector.url}/api/v1/", trust_env=False, timeout=PATIENCE) as http:
        half = http.get(f"runs/{run}/events", params={"limit": 20}).json()["items"][-1]["time"]
        for since in ({}, {"since": half}):
            page = http.get(f"runs/{run}/events", params={**where, **since, "limit": 1_000}).json()["items"]
            expected = [(run, event["seq"]) for event in page]
            assert expected
            assert _by_portions(http, f"runs/{run}/events", {**where, **since}, 1_000) == expected


@pytest.mark.parametrize("where", FILTERS)
def test_a_filtered_stream_of_all_runs_has_each_event_that_became_known_since_once(
    collector: CollectorProcess, failing: tuple[list[MadeUpRun], str], where: dict[str, str]
):
    runs, before = failing
    with httpx.Client(base_url=f"{collector.url}/api/v1/", trust_env=False, timeout=PATIENCE) as http:
        expected: dict[str, list[int]] = {}
        for run in runs:
            page = http.get(f"runs/{run.run}/events", params={**where, "limit": 1_000}).json()["items"]
            expected[run.run] = [event["seq"] for event in page]
        most = sum(map(len, expected.values()))
        found = _by_portions(http, "runs/stream", {**where, "since": before}, most)
    assert {run: [seq for each, seq in found if each == run] for run in expected} == expected


def test_a_client_of_all_runs_that_is_cut_off_before_the_first_event_misses_nothing(collector: CollectorProcess):
    with (
        httpx.Client(base_url=f"{collector.url}/api/v1/", trust_env=False, timeout=PATIENCE) as http,
        Client(collector.url) as client,
    ):
        with http.stream("GET", "runs/stream") as response:
            last_id = next(line[4:] for line in response.iter_lines() if line.startswith("id: "))
        run = MadeUpRun(3)
        send(collector.url, [run])
        events = client.run(run.run)["events"]
        answer = http.get("runs/stream", params={"limit": events}, headers={"last-event-id": last_id}).text
    assert [f'"seq":{seq}' in answer for seq in range(1, events + 1)] == [True] * events


def test_a_run_that_is_deleted_ends_its_streams(collector: CollectorProcess):
    run = MadeUpRun(3, live=True)
    send(collector.url, [run])
    with Client(collector.url) as client, ThreadPoolExecutor(1) as thread:
        seen = 0
        deleting = None
        for _ in client.watch(run.run):
            seen += 1
            if deleting is None:
                deleting = thread.submit(client.delete_run, run.run)
        assert deleting is not None
        deleting.result()
    assert seen > 0
