"""Older names become today's, and a GenAI span gets its kind."""

from typing import Any

import pytest

from playhead.model import names
from tests.unit.lift.spans import attributes_of


@pytest.mark.parametrize(("operation", "kind"), names.KIND_OF_OPERATION.items())
def test_the_kind_is_that_of_the_operation(operation: str, kind: str):
    assert attributes_of({names.OPERATION: operation})[names.KIND] == kind
    assert kind in names.KINDS


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({names.OPERATION: "chat", names.KIND: "step"}, "step"),
        ({names.TOOL_NAME: "search"}, "tool"),
        ({names.OPERATION: "new_operation"}, None),
        ({names.OPERATION: ["chat"]}, None),
        ({names.RESPONSE_MODEL: "m", names.INPUT_TOKENS: 7}, "llm"),
        ({names.RESPONSE_MODEL: "m", names.INPUT_TOKENS: 7, "ag2.span.type": "usage"}, None),
        ({"http.request.method": "GET"}, None),
    ],
    ids=repr,
)
def test_a_kind_is_given_when_there_is_none_and_it_is_known(attributes: dict[str, Any], kind: str | None):
    assert attributes_of(attributes).get(names.KIND) == kind


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({names.SYSTEM: "openai"}, {names.PROVIDER: "openai"}),
        ({names.SYSTEM: "vertex_ai"}, {names.PROVIDER: "gcp.vertex_ai"}),
        ({names.SYSTEM: "openai", names.PROVIDER: "openai"}, {names.PROVIDER: "openai"}),
        ({names.SYSTEM: "openai", names.PROVIDER: "groq"}, {names.SYSTEM: "openai", names.PROVIDER: "groq"}),
        ({names.SYSTEM: "autogen"}, {names.SYSTEM: "autogen", names.PROVIDER: "autogen"}),
        ({names.SYSTEM: 5}, {names.SYSTEM: 5}),
        ({names.CACHE_CREATION_TOKENS: 7}, {names.CACHE_WRITE_TOKENS: 7}),
        (
            {names.CACHE_CREATION_TOKENS: 7, names.CACHE_WRITE_TOKENS: 8},
            {names.CACHE_CREATION_TOKENS: 7, names.CACHE_WRITE_TOKENS: 8},
        ),
        (
            {"gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 8},
            {names.INPUT_TOKENS: 7, names.OUTPUT_TOKENS: 8},
        ),
    ],
    ids=repr,
)
def test_an_older_name_becomes_todays_unless_that_would_lose_something(before: dict[str, Any], after: dict[str, Any]):
    assert attributes_of(before) == after
