"""A bundle that is downloaded slowly: it takes no memory from other answers, and nothing is left when it is cut off."""

import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from playhead.model.canonical import Content
from playhead.model.span import Span
from playhead.outbound.otlp import traces_request
from playhead.wire.pack import PACK, Pack, encode_pack
from playhead_collector.process import CollectorProcess
from tests.support.made_up_runs import PROTOBUF, packed, post_packed

PATIENCE = 60.0
KIB, MIB = 2**10, 2**20
RUN = "b0" * 16


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collector's folder for temporary files, in which it is alone."""
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def collector(module_database_url: str, temporary: Path) -> Iterator[CollectorProcess]:
    """Its answers may have one MiB in memory, together."""
    env = {"PLAYHEAD_MAX_ANSWERING_BYTES": str(MIB), "TMPDIR": str(temporary)}
    with CollectorProcess(database_url=module_database_url, env=env) as running:
        yield running


@pytest.fixture
def http(collector: CollectorProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=collector.url, timeout=PATIENCE, trust_env=False) as http:
        yield http


def keep_run_with(http: httpx.Client, content: Content) -> None:
    attributes = {"playhead.input.ref": str(content.ref)}
    span = Span(
        trace_id=RUN, span_id="b0" * 8, parent_id=None, name="large", start_ns=1, end_ns=2, attributes=attributes
    )
    post_packed(http, "/v1/content", packed(encode_pack(Pack((content,), ()))), PACK)
    post_packed(http, "/v1/traces", packed(traces_request([span])), PROTOBUF)


def random_content(size: int) -> Content:
    """Content that cannot be compressed."""
    data = random.Random(size).randbytes(size)
    return Content(data, "application/octet-stream")


def test_a_bundle_that_is_downloaded_takes_no_memory_from_other_answers(http: httpx.Client, temporary: Path):
    large, other = random_content(16 * MIB), random_content(300 * KIB)
    keep_run_with(http, large)
    post_packed(http, "/v1/content", packed(encode_pack(Pack((other,), ()))), PACK)
    with http.stream("GET", f"/api/v1/runs/{RUN}/bundle") as bundle:
        assert int(bundle.headers["content-length"]) > 16 * MIB
        next(bundle.iter_raw(KIB))
        for _ in range(3):
            answer = http.get(f"/api/v1/content/{other.ref}")
            assert (answer.status_code, len(answer.content)) == (200, 300 * KIB)
    # The client is gone before the end.
    assert list(temporary.glob("playhead-bundle-*")) == []
