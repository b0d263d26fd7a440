"""A program whose collector speaks another version of the wire: a newer one takes all, an older one is said."""

import logging
from pathlib import Path

import pytest

import playhead
from tests.integration.export.fake_collector import WHO, FakeCollector


@playhead.observe
def agent(question: str) -> str:
    return question.upper()


@pytest.mark.parametrize("version", ["1", "2", "17"])
def test_a_collector_of_the_same_or_a_newer_version_gets_all(version: str, tmp_path: Path):
    with FakeCollector(wire=version) as collector:
        playhead.configure(endpoint=collector.url, journal_dir=str(tmp_path))
        agent("where?")
        assert playhead.flush(60)
        playhead.shutdown()
    assert [span.name for span in collector.spans] == ["invoke_agent agent"]


def test_an_older_collector_gets_nothing_until_it_is_upgraded(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with FakeCollector(wire="0") as collector, caplog.at_level(logging.WARNING, "playhead"):
        playhead.configure(endpoint=collector.url, journal_dir=str(tmp_path), exit_timeout_seconds=0)
        assert agent("where?") == "WHERE?"
        assert not playhead.flush(30)  # at once, since trying again is of no use
        playhead.shutdown()
        assert collector.spans == []
        assert set(collector.paths()) <= {WHO}
        said = [record.getMessage() for record in caplog.records if "version 0 of the wire" in record.getMessage()]
        assert len(said) == 1
        assert "until the collector is upgraded" in said[0]
        collector.wire = "1"
        playhead.configure(endpoint=collector.url, journal_dir=str(tmp_path))
        agent("again")
        assert playhead.flush(60)
        playhead.shutdown()
    assert "again" not in said[0]
    assert any(span.name == "invoke_agent agent" for span in collector.spans)
