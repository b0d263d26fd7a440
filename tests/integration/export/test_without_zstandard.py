"""Without the extra `zstd`, requests are compressed with gzip, which Python brings itself."""

import sys
from pathlib import Path

import pytest

import playhead
from playhead.export.http import compression
from tests.integration.export.fake_collector import WHO, FakeCollector


@playhead.observe
def agent(question: str) -> str:
    return question.upper()


def test_a_program_without_zstandard_delivers_with_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert compression()[0] == "gzip"
    with FakeCollector() as collector:
        playhead.configure(endpoint=collector.url, journal_dir=str(tmp_path))
        agent("where?" * 1000)
        assert playhead.flush(60)
        playhead.shutdown()
    assert [span.name for span in collector.spans] == ["invoke_agent agent"]
    sent = [request for request in collector.requests if request.path != WHO]
    assert {request.headers["content-encoding"] for request in sent} == {"gzip"}
    assert sum(len(request.sent) for request in sent) < sum(len(request.body) for request in sent) / 3


def test_with_it_zstd_is_used():
    assert compression()[0] == "zstd"
