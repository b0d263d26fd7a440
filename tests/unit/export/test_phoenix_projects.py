"""Runs that another project of the same Phoenix has: it keeps a span in one project, and accepts it for others."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from playhead.export.counters import ShipCounters
from playhead.export.destinations.delivery import DestinationDelivery
from playhead.export.destinations.target import export_target
from playhead.export.shipment import Shipment
from playhead.model import names
from playhead.model.span import Span
from playhead.outbound.phoenix_projects import ProjectLookup, SentSpan, answer_of, project_of
from playhead.wire.retries import ProblemReporter
from tests.support.backends.http import Answer, json_answer
from tests.support.backends.phoenix import KEY, Phoenix

TRACE, OTHER = "a" * 32, "b" * 32


def spans(numbers: Iterable[int], trace: str = TRACE, **resource: str) -> list[Span]:
    attributes = {names.KIND: "step", names.RUN_ID: trace}
    return [
        Span(trace, f"{number:016x}", None, "step", number, number + 1, dict(attributes), resource=dict(resource))
        for number in numbers
    ]


class Exporter:
    """Delivers to one project of a Phoenix, as `export_to` does."""

    def __init__(self, url: str, project: str | None = None) -> None:
        target = export_target(
            "phoenix", {}, endpoint=url, api_key=KEY, public_key=None, secret_key=None, project=project,
            headers=None, content="full", preview_characters=100, redact=None, public_url=None,
        )  # fmt: skip
        self.counters = ShipCounters()
        self.said: list[str] = []
        self.delivery = DestinationDelivery(target, self.counters, ProblemReporter(self.said.append))

    def send(self, sent: Iterable[Span]) -> tuple[int, int]:
        """How many spans are counted as delivered and as refused so far."""
        self.delivery.deliver(Shipment(spans=list(sent)))
        return self.counters.spans, self.counters.rejected


Export = Callable[..., Exporter]


@pytest.fixture
def export() -> Iterator[Export]:
    made: list[Exporter] = []

    def make(phoenix: Phoenix, project: str | None = None) -> Exporter:
        made.append(Exporter(phoenix.url, project))
        return made[-1]

    yield make
    for exporter in made:
        exporter.delivery.close()


def ids(phoenix: Phoenix, project: str) -> list[int]:
    return sorted(int(row["id"], 16) for row in phoenix.spans(project))


def questions(phoenix: Phoenix) -> int:
    return sum(request.path == "/graphql" for request in phoenix.received)


def test_spans_that_another_project_has_are_not_counted_as_delivered(export: Export):
    with Phoenix(KEY) as phoenix:
        assert export(phoenix, "first").send(spans(range(1, 31))) == (30, 0)
        second = export(phoenix, "second")
        assert second.send(spans(range(1, 31))) == (0, 30)
        assert (ids(phoenix, "first"), ids(phoenix, "second")) == ([*range(1, 31)], [])
        [sentence] = second.said
        assert "the project first of this Phoenix has the span already" in sentence
        assert second.send(spans([40], OTHER)) == (1, 30)  # another run arrives


def test_spans_that_only_share_their_trace_with_another_project_are_sent(export: Export):
    with Phoenix(KEY) as phoenix:
        export(phoenix, "first").send(spans([1, 2]))
        second = export(phoenix, "second")
        assert second.send(spans([2, 3, 4])) == (2, 1)
        assert ids(phoenix, "first") == [1, 2, 3, 4]


def test_spans_that_the_same_project_has_are_sent_again(export: Export):
    with Phoenix(KEY) as phoenix:
        export(phoenix, "first").send(spans([1, 2]))
        assert export(phoenix, "first").send(spans([1, 2, 3])) == (3, 0)


def test_the_project_may_be_named_by_the_program_or_by_nobody(export: Export):
    with Phoenix(KEY) as phoenix:
        named = {names.PROJECT_NAME: "shop"}
        assert export(phoenix).send(spans([1], **named)) == (1, 0)
        assert export(phoenix).send(spans([1], **named)) == (1, 0)
        assert export(phoenix, "shop").send(spans([1])) == (1, 0)
        assert export(phoenix).send(spans([1])) == (0, 1)
        assert export(phoenix).send(spans([2], OTHER)) == (1, 0)
        assert export(phoenix, "default").send(spans([2], OTHER)) == (1, 0)


def test_each_run_is_asked_about_once(export: Export):
    with Phoenix(KEY) as phoenix:
        exporter = export(phoenix, "first")
        for number in range(5):
            exporter.send(spans([number]))
        assert questions(phoenix) == 1
        exporter.send(spans([7], OTHER))
        assert questions(phoenix) == 2


@pytest.mark.parametrize(
    "answer",
    [
        json_answer({"errors": [{"message": "Cannot query field"}], "data": None}),
        json_answer({"detail": "Not Found"}, 404),
        json_answer({"detail": "Unauthorized"}, 401),
        Answer(200, b"<html>", "text/html"),
        json_answer([]),
    ],
    ids=["older", "not there", "no permission", "a page", "no object"],
)
def test_a_phoenix_that_does_not_answer_the_question_gets_all_spans_and_is_not_asked_again(
    export: Export, answer: Answer
):
    with Phoenix(KEY) as phoenix:
        export(phoenix, "first").send(spans([1]))
        before = questions(phoenix)
        second = export(phoenix, "second")
        phoenix.fail_next = [answer]
        assert second.send(spans([1])) == (1, 0)
        assert second.send(spans([2], OTHER)) == (2, 0)
        assert questions(phoenix) == before + 1
        assert second.said == []


def test_after_an_answer_that_failed_it_is_asked_again(export: Export):
    with Phoenix(KEY) as phoenix:
        export(phoenix, "first").send(spans([1, 2]))
        second = export(phoenix, "second")
        phoenix.fail_next = [json_answer({}, 503)]
        assert second.send(spans([1])) == (1, 0)
        assert second.send(spans([2])) == (1, 1)


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_many_ids_are_asked_about_in_several_requests():
    lookup, sent = ProjectLookup(), [SentSpan(f"{n:032x}", f"{n:016x}", "mine") for n in range(120)]
    asking = lookup.look(sent)
    questions = [next(asking), asking.send(b'{"data": {}}'), asking.send(b'{"data": {}}')]
    assert [json.loads(question)["query"].count("project{name}") for question in questions] == [50, 50, 20]
    with pytest.raises(StopIteration) as ended:
        asking.send(b'{"data": {}}')
    assert ended.value.value == {}
    assert list(lookup.look(sent)) == []


@pytest.mark.parametrize(
    ("status", "expected"), [(200, b"x"), (404, b""), (401, b""), (422, b""), (503, None), (500, None)]
)
def test_what_a_status_says(status: int, expected: bytes | None):
    assert answer_of(status, b"x") == expected


@pytest.mark.parametrize(
    ("project", "resource", "expected"),
    [("a", {names.PROJECT_NAME: "b"}, "a"), (None, {names.PROJECT_NAME: "b"}, "b"), (None, {}, "default"),
     (None, {names.PROJECT_NAME: ""}, "default"), (None, {names.PROJECT_NAME: 5}, "default")],
)  # fmt: skip
def test_the_project_of_a_span(project: str | None, resource: dict[str, Any], expected: str):
    assert project_of(project, resource) == expected
