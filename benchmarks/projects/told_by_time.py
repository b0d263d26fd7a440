"""P2: whether the time of an answer tells that another project has what was asked for.

Pairs of questions with the key of a project that has none of it: for an id or ref that another project has, and for one
that exists nowhere. Both get the same answer. A classifier that sees only the times should do no better than guessing:
its AUC is the share of pairs of times, of the one and of the other kind, that are in the order that it expects.
`PLAYHEAD_BENCH_PAIRS` makes it shorter.
"""

import asyncio
import gc
import http.client
import json
import os
import random
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from urllib.parse import urlencode, urlsplit
from uuid import UUID

import asyncpg

from benchmarks.projects.tenants import Tenants, tenants
from playhead.client import Client
from playhead.model.ref import ContentRef
from playhead.outbound.otlp import traces_request
from tests.support.bar import Row, at_most
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, post_packed, send_content

_PAIRS = int(os.environ.get("PLAYHEAD_BENCH_PAIRS", "10000"))
_MOST_AUC = 0.55
_SEED = 20_261_129
_WARM_UP = 200
_RUNS_PER_REQUEST = 50
_PACKED_WITHIN_SECONDS = 180.0
_WAITING = (
    "select (select count(*) from run_news where dirty_since_ns is not null) + (select count(*) from packing_due)"
)


@dataclass(frozen=True, slots=True)
class _Question:
    """A request; `body` of a POST."""

    path: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Route:
    """A question about an id or a ref, and those that only the other project has."""

    ask: Callable[[str], _Question]
    elsewhere: Sequence[str]
    nowhere: Callable[[random.Random], str]


@dataclass(slots=True)
class _Times:
    """Seconds that answers took, about what another project has and about what nobody has."""

    elsewhere: list[float] = field(default_factory=list[float])
    nowhere: list[float] = field(default_factory=list[float])

    @property
    def auc(self) -> float:
        """Of the better of the two classifiers with a threshold, 0.5 to 1."""
        found = auc(self.elsewhere, self.nowhere)
        return max(found, 1 - found)


def auc(some: Sequence[float], others: Sequence[float]) -> float:
    """The share of pairs of one of `some` and one of `others` in which that of `some` is larger; equal ones count
    half."""
    ordered = sorted(others)
    larger = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in some)
    return larger / (2 * len(some) * len(others))


def measure() -> Iterator[Row]:
    """The pairs of all routes are asked in random order, and so are the two of a pair."""
    with tenants("asking", "other") as at:
        routes = _filled(at, _PAIRS // 4)
        times = _ask(at, routes)
    together = _Times()
    for name, taken in times.items():
        together.elsewhere += taken.elsewhere
        together.nowhere += taken.nowhere
        yield _row(f"times of {name}: best classifier, AUC", taken)
    yield _row("times of all routes: best classifier, AUC", together)


def _row(what: str, times: _Times) -> Row:
    against = (
        f"{len(times.elsewhere):,} pairs; median {median(times.elsewhere) * 1e3:.3f} ms of what another project has, "
        f"{median(times.nowhere) * 1e3:.3f} ms of what nobody has"
    )
    return at_most("P2", what, times.auc, _MOST_AUC, unit="", against=against)


# --- what is asked for ------------------------------------------------------------------------------------------------


def _filled(at: Tenants, pairs: int) -> Mapping[str, _Route]:
    """Both projects have as much; each id and ref of the other one is asked for once."""
    runs = {name: [MadeUpRun(1) for _ in range(pairs)] for name in ("asking", "other")}
    for name, made in runs.items():
        send_content(at.url, made, at.headers(name))
        with at.http(name) as client:
            for start in range(0, pairs, _RUNS_PER_REQUEST):
                spans = [span for run in made[start : start + _RUNS_PER_REQUEST] for span in run.spans]
                post_packed(client, "/v1/traces", packed(traces_request(spans)), PROTOBUF)
        with Client(at.url, at.keys[name]) as client:
            for n in range(pairs):
                client.save_conversation(f"{name}-{n}", made[n].threads[-1].ref, revision=0)
    asyncio.run(_until_packed(at.process.database))
    refs = [str(next(iter(run.contents))) for run in runs["other"]]
    return {
        "a run": _Route(lambda run: _Question(f"/api/v1/runs/{run}"), [run.run for run in runs["other"]], _any_run),
        "a content": _Route(lambda ref: _Question(f"/api/v1/content/{ref}"), refs, _any_ref),
        "missing contents": _Route(
            lambda ref: _Question("/v1/content/missing", json.dumps({"refs": [ref]}).encode()), refs[::-1], _any_ref
        ),
        "a conversation": _Route(
            lambda name: _Question(f"/api/v1/conversation?{urlencode({'id': name})}"),
            [f"other-{n}" for n in range(pairs)],
            lambda chance: f"nobod-{chance.randrange(pairs)}",
        ),
    }


def _any_run(chance: random.Random) -> str:
    return UUID(int=chance.getrandbits(128), version=4).hex


def _any_ref(chance: random.Random) -> str:
    return str(ContentRef.of(chance.randbytes(16)))


async def _until_packed(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        deadline = time.monotonic() + _PACKED_WITHIN_SECONDS
        quiet = 0
        while quiet < 5:  # a run is sealed a second after it was projected
            if time.monotonic() > deadline:
                raise TimeoutError("not all runs are packed")
            quiet = 0 if await connection.fetchval(_WAITING) else quiet + 1
            await asyncio.sleep(1)
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()


# --- asking -----------------------------------------------------------------------------------------------------------


def _ask(at: Tenants, routes: Mapping[str, _Route]) -> dict[str, _Times]:
    chance = random.Random(_SEED)
    pairs = [(name, each) for name, route in routes.items() for each in route.elsewhere]
    chance.shuffle(pairs)
    times = {name: _Times() for name in routes}
    address = urlsplit(at.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    asking = _Asking(connection, at.headers("asking"))
    for name, _ in pairs[:_WARM_UP]:
        asking.time(routes[name].ask(routes[name].nowhere(chance)))
    gc.disable()
    try:
        for name, elsewhere in pairs:
            route, taken = routes[name], times[name]
            both = [(taken.elsewhere, elsewhere), (taken.nowhere, route.nowhere(chance))]
            chance.shuffle(both)
            for into, named in both:
                into.append(asking.time(route.ask(named)))
    finally:
        gc.enable()
        connection.close()
    return times


@dataclass(slots=True)
class _Asking:
    """Asks one question after the other on one connection, as an attacker with little noise would."""

    connection: http.client.HTTPConnection
    headers: Mapping[str, str]

    def time(self, question: _Question) -> float:
        """The seconds until the whole answer is there. Raises AssertionError for an answer that tells something."""
        method = "GET" if question.body is None else "POST"
        headers = {**self.headers, "content-type": "application/json"}
        began = time.perf_counter()
        self.connection.request(method, question.path, question.body, headers)
        answer = self.connection.getresponse()
        body = answer.read()
        taken = time.perf_counter() - began
        if question.body is None:
            assert answer.status == 404, (answer.status, question.path)
        else:
            assert len(json.loads(body)["missing"]) == 1, body
        return taken
