"""Content that comes in log records, in other batches than its spans: before them, after them, after the run was read.

What the official instrumentations sent (tests/senders), delivered in the ways in which batches can arrive."""

import json
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import httpx
import pytest

from playhead_collector.process import CollectorProcess
from tests.senders.sent import GOLDEN

Records = list[dict[str, Any]]


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as collector:
        yield collector
        assert "Traceback" not in collector.log()


class Delivery:
    """The captured spans and log records of a sender, as a run of their own."""

    def __init__(self, collector: CollectorProcess, name: str, number: int) -> None:
        self._collector = collector
        text = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
        spans = json.loads(text)["traces"]["resourceSpans"][0]["scopeSpans"][0]["spans"]
        trace = spans[0]["traceId"]
        self.run = f"{number:02x}{trace[2:]}"
        self._captured = json.loads(text.replace(trace, self.run))

    def spans(self) -> None:
        self._post("traces", self._captured["traces"])

    def records(self, chosen: Any = lambda record: True) -> None:
        """Those log records that are chosen."""
        logs = json.loads(json.dumps(self._captured["logs"]))
        for resource in logs["resourceLogs"]:
            for scope in resource["scopeLogs"]:
                scope["logRecords"] = [record for record in scope["logRecords"] if chosen(record)]
        self._post("logs", logs)

    def state(self) -> Any:
        """What is left of a state when its ids and times are."""
        state = self.ask().json()
        return {key: state[key] for key in ("history", "thread", "llm_calls", "status", "input_tokens")}

    def contexts(self) -> Any:
        """The calls as events: what each was asked and answered, and how many messages its context has."""
        answer = httpx.get(f"{self._collector.url}/api/v1/runs/{self.run}/events", timeout=120)
        return [(each["kind"], each["data"], each["refs"]) for each in answer.json()["items"]]

    def ask(self) -> httpx.Response:
        return httpx.get(f"{self._collector.url}/api/v1/runs/{self.run}/state", timeout=120)

    def _post(self, signal: str, body: Any) -> None:
        answer = httpx.post(f"{self._collector.url}/v1/{signal}", json=body, timeout=120)
        assert answer.status_code == 200, answer.text
        assert not answer.json().get("partialSuccess"), answer.text


def is_answer(record: dict[str, Any]) -> bool:
    return record.get("eventName") == "gen_ai.choice"


@pytest.mark.parametrize("name", ["otel_genai_openai_events", "otel_openai_v2_events"])
def test_records_end_in_their_call_whenever_they_come(collector: CollectorProcess, name: str):
    first, before, after, read, apart = (Delivery(collector, name, number) for number in range(16, 21))
    first.spans()
    first.records()
    expected = first.state()
    assert len(expected["history"]) >= 5

    before.records()
    before.spans()
    assert before.state() == expected

    after.spans()
    assert after.state()["history"] == []
    after.records()
    assert after.state() == expected

    read.records()
    read.ask()  # there is no event to tell of yet
    read.spans()
    read.records()  # a sender that got no answer sends again
    assert read.state() == expected

    apart.records(is_answer)
    apart.spans()
    apart.records(lambda record: not is_answer(record))
    assert apart.state() == expected


def part(number: int, of: int) -> Callable[[dict[str, Any]], bool]:
    """Chooses every `of`-th record: the parts of one call's messages alternate in time."""
    golden = json.loads((GOLDEN / f"{SPLIT}.json").read_text(encoding="utf-8"))
    times = [
        record["observedTimeUnixNano"] for record in golden["logs"]["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    ]
    return lambda record: times.index(record["observedTimeUnixNano"]) % of == number


SPLIT = "otel_openai_v2_events"
# What comes twice was sent again.
SENT_AGAIN = list(dict.fromkeys(permutations("s0011")))[::5]
ORDERS = [(order, is_read) for order in permutations("s01") for is_read in (False, True)]
ORDERS += [(order, at % 2 == 0) for at, order in enumerate(SENT_AGAIN)]


def test_messages_of_one_call_in_several_batches_are_its_context_in_every_order(collector: CollectorProcess):
    """Spans, and two batches in which the messages of each call alternate; read at the end, or after each of them."""
    at_once = Delivery(collector, SPLIT, 32)
    at_once.spans()
    at_once.records()
    state, contexts = at_once.state(), at_once.contexts()
    assert [data["messages"] for kind, data, _ in contexts if kind == "llm_called"] == [2, 4, 6]

    for number, (order, is_read) in enumerate(ORDERS, 33):
        split = Delivery(collector, SPLIT, number)
        for each in order:
            if each == "s":
                split.spans()
            else:
                split.records(part(int(each), 2))
            if is_read:
                split.ask()
        assert (split.state(), split.contexts()) == (state, contexts), order


def test_records_that_are_sent_again_in_other_batches_count_once(collector: CollectorProcess):
    at_once, split = (Delivery(collector, SPLIT, number) for number in (8, 9))
    at_once.spans()
    at_once.records()
    for number in range(5):
        split.records(part(number, 5))
    split.spans()
    split.records(part(1, 2))
    split.records()
    assert (split.state(), split.contexts()) == (at_once.state(), at_once.contexts())
