"""Everything that can be asked about every event of a few runs is answered, or refused where that is right."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from playhead.model import names
from playhead.model.message import text_message
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.process import CollectorProcess
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import connect
from tests.integration.read.recorded import Recorder, conversation
from tests.support.compressed_runs import RUNS
from tests.support.recorded_runs import Recorded
from tests.support.sweep import PREFIX, RULES, forgotten, sweep

DECLARED = next(labelled for labelled in RUNS if any(call.declares for call in labelled.calls))
SUMMED_UP = next(labelled for labelled in RUNS if labelled.name == "summed_up")
_OURS = [f"{number:02x}" * 16 for number in range(1, 6)]


def branching(run: str) -> Recorder:
    """A run that says more than its calls do: a plan, a branch, a handoff, checkpoints, and a call that fails."""
    recorder = Recorder(run)
    for name, payload, ref in (
        (names.PLAN, ["search the order", {"text": "refund it"}], names.PLAN_REF),
        (names.ANNOTATION, {"decision": "refund", "alternatives": ["deny"]}, names.ANNOTATION_REF),
        (names.HANDOFF, "technical", names.REASON_REF),
        (names.CHECKPOINT, {"todo": 1}, names.STATE_REF),
        ("playhead.of_tomorrow", "x", "playhead.y_ref"),
    ):
        recorder.say(name, **{ref: recorder.keep(payload), names.HANDOFF_TO: "TechLead"})
    messages = [text_message("user", "Refund order 7, please.")]
    recorder.model(messages, text_message("assistant", "I will."))
    recorder.tool("refund", {"order": 7}, "refunded")
    return recorder


@pytest.fixture(scope="module")
def http(module_database_url: str) -> Iterator[httpx.Client]:
    async def ingest(batches: list[Batch]) -> None:
        store = await connect(module_database_url, pool_size=1)
        for batch in batches:
            await store.spans.ingest(PROJECT, batch)
        await store.close()

    runs = [conversation(_OURS[0], 3), branching(_OURS[1]), Recorder(_OURS[2])]
    batches = [runs[0].batch(), runs[1].batch(), runs[2].batch(ended=False)]
    batches += [Recorded(run, labelled).batch() for run, labelled in zip(_OURS[3:], (DECLARED, SUMMED_UP), strict=True)]
    with CollectorProcess(database_url=module_database_url) as collector:
        asyncio.run(ingest(batches))
        with httpx.Client(base_url=collector.url, timeout=60, trust_env=False) as http:
            yield http
        assert "Traceback" not in collector.log()


def test_every_question_about_every_event_has_its_answer(http: httpx.Client):
    found = sweep(http, _OURS, one_in=4)
    assert found.wrong == []
    assert found.times.keys() == RULES.keys()
    assert all(found.times.values())


def test_an_operation_that_nobody_thought_of_is_noticed(http: httpx.Client):
    description = http.get(f"{PREFIX}/openapi.json").json()
    assert forgotten(description) == set()
    description["paths"][f"{PREFIX}/runs/{{run}}/mood"] = {"get": {}}
    del description["paths"][f"{PREFIX}/runs/{{run}}/tokens"]
    assert forgotten(description) == {"get /runs/{run}/mood", "get /runs/{run}/tokens"}
