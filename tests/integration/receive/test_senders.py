"""What other people's packages really send, to a real collector.

Every question about their runs is answered, no payload is left outside of the tables for content, and runs of one
session are found together."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import httpx
import pytest

from playhead.model.event import LlmCompleted
from playhead_collector.process import CollectorProcess
from tests.senders.catalogue import SENDERS
from tests.senders.losses import CONTEXT_DIFFERS, HISTORY_LACKS, NO_CONTEXT, NO_REASON, OWN_PROMPTS
from tests.senders.programs import scene
from tests.senders.sent import GOLDEN, sent

LISTS = ("events", "messages", "llm-calls", "tool-calls", "spans", "compressions", "decisions", "attributions")
DETAILS = ("compressions", "decisions", "attributions")


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as collector:
        yield collector
        assert "Traceback" not in collector.log()


def send(collector: CollectorProcess, name: str) -> list[str]:
    """Everything that a sender sent; the runs, in the order in which they began."""
    captured = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    for signal in ("traces", "logs"):
        answer = httpx.post(f"{collector.url}/v1/{signal}", json=captured[signal], timeout=60)
        assert answer.status_code == 200, answer.text
        assert not answer.json().get("partialSuccess"), answer.text
    return sent(name).traces()


def ask(collector: CollectorProcess, path: str, **params: Any) -> Any:
    answer = httpx.get(f"{collector.url}/api/v1/{path}", params=params, timeout=120)
    assert answer.status_code == 200, (path, answer.text)
    return answer.json()


@dataclass
class Answers:
    """What the questions about a sender's runs were answered with."""

    history: set[str] = field(default_factory=set[str])
    tokens: Counter[str] = field(default_factory=Counter[str])
    reasons: list[str] = field(default_factory=list[str])

    def add(self, state: Any, tokens: Any, lists: dict[str, Any]) -> None:
        self.history.update(state["history"])
        for key in ("input_tokens", "output_tokens"):
            said = tokens["totals"][key] or 0
            assert (state[key] or 0) == said
            self.tokens[key] += said
        self.reasons += [item["kind"] for item in lists["attributions"]]


def check(found: Answers, name: str) -> None:
    """The state at the end has the messages, tokens are those of the calls, and each tool's call has a reason."""
    it = sent(name)
    history = json.dumps([it.value(ref) for ref in sorted(found.history)])
    lacking = HISTORY_LACKS.get(name, ())
    for text in (scene.QUESTION, scene.FOLLOW_UP, "Marker-result", "Marker-answer", "Marker-last"):
        assert (text in history) == (text not in lacking), text
    usage = [event.usage for event in it.events() if isinstance(event, LlmCompleted)]
    assert found.tokens["input_tokens"] == sum(each.input_tokens or 0 for each in usage)
    assert found.tokens["output_tokens"] == sum(each.output_tokens or 0 for each in usage)
    assert ("unknown" in found.reasons) == (name in NO_REASON), found.reasons


@pytest.mark.parametrize("name", sorted(SENDERS))
def test_every_question_about_a_senders_runs_is_answered(collector: CollectorProcess, name: str):
    runs = send(collector, name)
    calls = 0
    found = Answers()
    for run in runs:
        summary = ask(collector, f"runs/{run}")
        assert summary["status"] == "completed"
        lists = {kind: ask(collector, f"runs/{run}/{kind}")["items"] for kind in LISTS}
        for kind in DETAILS:
            for item in lists[kind]:
                ask(collector, f"runs/{run}/{kind}/{item['seq']}")
        calls += len(lists["llm-calls"])
        last = lists["events"][-1]["seq"]
        found.add(ask(collector, f"runs/{run}/state", at=last), ask(collector, f"runs/{run}/tokens"), lists)
        ask(collector, f"runs/{run}/causes/{last}")
        assert lists["decisions"]
    assert calls == len(sent(name).requests)
    check(found, name)
    if name in NO_CONTEXT:
        return
    context = json.dumps(ask(collector, f"runs/{runs[-1]}/context"))
    assert scene.FOLLOW_UP in context
    assert scene.QUESTION in context or name in OWN_PROMPTS
    if name not in CONTEXT_DIFFERS:
        assert scene.REPORT in context


def test_no_payload_of_any_sender_is_left_outside_of_the_tables_for_content(collector: CollectorProcess):
    for name in SENDERS:
        send(collector, name)
    for run in ask(collector, "runs")["items"]:
        ask(collector, f"runs/{run['run']}/state")  # projected, so that events and rows for searches are there
    assert asyncio.run(rows_with(collector, "Marker-")) == []


async def rows_with(collector: CollectorProcess, marker: str) -> list[str]:
    """Tables, other than those for content, that have the text somewhere, as text or as bytes."""
    connection = await asyncpg.connect(collector.database)
    try:
        found: list[str] = []
        for (table,) in await connection.fetch("select tablename from pg_tables where schemaname = 'public'"):
            query = f"select count(*) from {table} as r where r::text like $1 or r::text like $2"
            if "content" not in table and await connection.fetchval(query, f"%{marker}%", f"%{marker.encode().hex()}%"):
                found.append(table)
        return found
    finally:
        await connection.close()


def test_traces_of_one_session_are_found_together(collector: CollectorProcess):
    runs = send(collector, "openinference_langgraph")
    for run in runs:
        ask(collector, f"runs/{run}")
    found = ask(collector, "runs", session=scene.SESSION)["items"]
    assert len(runs) == 2
    assert {run["run"] for run in found} >= set(runs)
