"""A run whose process was killed: those who follow it hear of its end, and of its going on."""

from collections.abc import Iterator

import pytest

from playhead.client import Client
from playhead_collector.process import CollectorProcess
from tests.integration.live.growing import end
from tests.support.made_up_runs import MadeUpRun, send


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    env = {"PLAYHEAD_RUN_LOST_AFTER_SECONDS": "0.5", "PLAYHEAD_STREAM_HEARTBEAT_SECONDS": "0.2"}
    with CollectorProcess(database_url=module_database_url, env=env) as running:
        yield running


def test_watching_a_run_that_is_lost_ends_and_it_goes_on_when_more_arrives(collector: CollectorProcess):
    run = MadeUpRun(3, live=True)
    send(collector.url, [run])
    with Client(collector.url) as client:
        seqs = [event["seq"] for event in client.watch(run.run)]  # ends because the run is lost, not because it ended
        lost = client.run(run.run)
        assert lost["status"] == "lost"
        assert lost["last_record"] is not None
        assert lost["ended"] is None
        assert seqs == list(range(1, lost["events"] + 1))
        assert [found["run"] for found in client.runs(status="lost")] == [run.run]
        end(collector.url, run)
        assert list(client.watch(run.run, after=seqs[-1]))
        assert client.run(run.run)["status"] == "completed"
        assert client.run(run.run)["last_record"] is None
