"""Spans that are lifted together are lifted as each of them alone is; and memory is linear in what is lifted."""

import json
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from playhead.lift import UNPARSED, SharedThreads, lift
from playhead.model.span import Span
from tests.senders.catalogue import SENDERS
from tests.senders.sent import sent
from tests.unit.lift.spans import a_span

# --- together ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SENDERS))
def test_spans_that_are_lifted_together_are_as_they_are_alone(name: str):
    shared = SharedThreads()
    for span in sent(name).spans:
        assert lift(span, shared=shared) == lift(span)


def test_each_span_names_all_of_its_contents_also_those_that_an_earlier_one_had():
    """A batch is divided by runs, and each part has to be whole."""
    shared = SharedThreads()
    attributes = {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user"}
    attributes |= {"llm.input_messages.0.message.content": "where is it?"}
    one, other = (lift(a_span(attributes), shared=shared) for _ in range(2))
    assert one.contents == other.contents != []
    assert one.threads == other.threads != []


# --- memory -----------------------------------------------------------------------------------------------------------


def _text(size: int) -> str:
    """Text in which nothing is said twice, so that no two parts of it are one content."""
    chance = random.Random(size)
    return "".join(chance.choices("abcdefghij ", k=size))


def _indexed(size: int) -> dict[str, Any]:
    each = 500
    return {"openinference.span.kind": "LLM"} | {
        f"llm.input_messages.{n}.message.{key}": value
        for n in range(size // each)
        for key, value in (("role", "user"), ("content", f"{n} {_text(each)}"))
    }


def _legacy(size: int) -> dict[str, Any]:
    return {"traceloop.span.kind": "workflow"} | {
        f"gen_ai.prompt.{n}.{key}": value
        for n in range(size // 500)
        for key, value in (("role", "user"), ("content", f"{n} {_text(500)}"))
    }


def _messages(size: int) -> str:
    said = [{"role": "user", "parts": [{"type": "text", "content": f"{n} {_text(500)}"}]} for n in range(size // 500)]
    return json.dumps(said)


SHAPES: dict[str, Callable[[int], dict[str, Any]]] = {
    "numbered messages": _indexed,
    "older numbered messages": _legacy,
    "messages as JSON": lambda size: {"gen_ai.input.messages": _messages(size), "gen_ai.operation.name": "chat"},
    "JSON within JSON": lambda size: {"gen_ai.input.messages": json.dumps(_messages(size))},
    "cut JSON": lambda size: {"gen_ai.input.messages": _messages(size)[:-7]},
    "one text": lambda size: {"input.value": _text(size), "openinference.span.kind": "CHAIN"},
    "one text of nobody": lambda size: {"what.is.this": _text(size)},
    "a request": lambda size: {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": json.dumps({"messages": json.loads(_messages(size)), "model": "m"}),
    },
    "many attributes": lambda size: {f"x.{n}": _text(40) for n in range(size // 100)},
    "deep names": lambda size: {"llm.input_messages." + "0." * 14 + f"{n}": _text(40) for n in range(size // 100)},
    "deep JSON": lambda size: {"gen_ai.input.messages": "[" * (size // 2) + "]" * (size // 2)},
    "many brackets": lambda size: {"gen_ai.input.messages": "[" + ",".join(["{}"] * (size // 3)) + "]"},
    "escapes": lambda size: {"input.value": json.dumps("\u20ac" * (size // 6)), "openinference.span.kind": "LLM"},
    "quotes": lambda size: {"gen_ai.input.messages": json.dumps([{"role": "user", "content": '"' * (size // 2)}])},
}


# A list of empty messages takes 300 times its text; `test_more_objects...` holds how many of them are read.
_MOST_TIMES = 400


def _peak(span: Span) -> int:
    """Bytes that lifting takes besides the span, at the most."""
    lift(span)  # what is imported or compiled once is not the span's
    tracemalloc.start()
    try:
        lifted = lift(span)
        assert lifted.span.span_id == span.span_id
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_more_objects_than_any_conversation_has_are_kept_as_text():
    lifted = lift(a_span(SHAPES["many brackets"](320_000)))
    (only,) = lifted.contents
    assert len(only.data) > 300_000
    assert lifted.span.attributes[UNPARSED] == ["gen_ai.input.messages"]


@pytest.mark.parametrize("shape", SHAPES)
def test_eight_times_as_much_takes_about_eight_times_the_memory(shape: str):
    small, large = (_peak(a_span(SHAPES[shape](size))) for size in (20_000, 160_000))
    assert large < 14 * small + 50_000
    assert large < 160_000 * _MOST_TIMES
