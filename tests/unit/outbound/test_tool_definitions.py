"""Definitions of tools that are sent on: flat, as the conventions demand, and the same in another Playhead."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect.tool_definitions import flattened, restored
from playhead.lift import lift
from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.span import Span
from tests.unit.model.values import checked
from tests.unit.outbound.records import OneRecord, outbound

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FLAT = {"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA}
CHAT = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}}
STRICT = {"type": "function", "function": {"name": "look", "parameters": SCHEMA, "strict": True}}
ANTHROPIC = {"name": "look", "description": "Looks.", "input_schema": SCHEMA}
CACHED = {**ANTHROPIC, "cache_control": {"type": "ephemeral"}}
SERVER = {"type": "web_search_20260101", "name": "web_search"}
BEDROCK = {"toolSpec": {"name": "look", "description": "Looks.", "inputSchema": {"json": SCHEMA}}}
DECLARED = {"name": "look", "description": "Looks.", "parameters": SCHEMA}
GEMINI = {"functionDeclarations": [DECLARED, {"name": "wait"}]}
PYTHON = {"function_declarations": [{"name": "look"}]}
EACH = [FLAT, CHAT, STRICT, ANTHROPIC, CACHED, SERVER, BEDROCK, DECLARED, GEMINI, PYTHON]


@pytest.mark.parametrize(
    "native", [CHAT, ANTHROPIC, BEDROCK, DECLARED, FLAT], ids=["chat", "anthropic", "bedrock", "bare", "flat"]
)
def test_a_definition_is_flat_whatever_form_it_had(native: Any):
    assert flattened([native])[0] == [FLAT]


def sent(tools: Any, **options: Any) -> tuple[Span, Any]:
    record = OneRecord()
    ref = record.value(tools)
    call = outbound("llm", "chat m", {names.OPERATION: "chat", names.TOOL_DEFINITIONS_REF: ref})
    return record.encoded(call, **options), ref


@pytest.mark.parametrize("tools", [[native] for native in EACH] + [EACH, [GEMINI, GEMINI], [CHAT, CHAT], []])
def test_each_sent_definition_has_a_type_and_a_name_and_comes_back_as_it_was(tools: Any):
    span, ref = sent(tools)
    for definition in json.loads(span.attributes[names.TOOL_DEFINITIONS]):
        assert isinstance(definition["type"], str)
        assert isinstance(definition["name"], str)
        assert "function" not in definition
    again = lift(span).span.attributes
    assert again[names.TOOL_DEFINITIONS_REF] == ref
    assert not {names.TOOL_FORMS, names.TOOL_DEFINITIONS, names.CONTENT_INLINE} & again.keys()


@pytest.mark.parametrize(
    "tools", ["a text", {"look": {}}, [5, None, "look"], [{"type": "function", "function": "look"}]]
)
def test_what_is_no_definition_is_sent_as_it_is(tools: Any):
    span, ref = sent(tools)
    assert json.loads(span.attributes[names.TOOL_DEFINITIONS]) == tools
    assert names.TOOL_FORMS not in span.attributes
    assert lift(span).span.attributes[names.TOOL_DEFINITIONS_REF] == ref


def test_a_preview_is_flat_too():
    long = {**CHAT, "function": {"name": "look", "description": "Looks. " * 100}}
    span, _ = sent([long], content="preview", preview_characters=100)
    [definition] = json.loads(span.attributes[names.TOOL_DEFINITIONS])
    assert (definition["type"], definition["name"]) == ("function", "look")
    assert len(definition["description"]) < 100


def test_other_destinations_get_the_definitions_of_the_provider():
    span, _ = sent([CHAT], vocabulary="phoenix")
    assert json.loads(span.attributes["llm.tools.0.tool.json_schema"]) == CHAT
    assert names.TOOL_FORMS not in span.attributes


@pytest.mark.parametrize("forms", [["toolSpec"], ["other"], [], ["function", ""], ["functionDeclarations#0"]])
def test_forms_that_do_not_fit_leave_the_definitions_as_they_came(forms: list[str]):
    flat = [{"type": "x", "name": "look"}]
    attributes = {
        names.CONTENT_INLINE: [names.TOOL_DEFINITIONS],
        names.TOOL_DEFINITIONS: json.dumps(flat),
        names.TOOL_FORMS: forms,
    }
    lifted = lift(Span("a" * 32, "b" * 16, None, "chat", 1, 2, attributes))
    [content] = lifted.contents
    assert json.loads(content.data) == flat


keys = st.sampled_from(
    ["type", "name", "function", "parameters", "input_schema", "toolSpec", "functionDeclarations", "x"]
)
texts = st.sampled_from(["function", "look", ""])
natives = st.recursive(
    texts | st.none(),
    lambda inner: st.dictionaries(keys, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
)


@checked
@given(st.lists(st.sampled_from(EACH) | natives, max_size=5))
def test_any_definitions_are_restored(tools: list[Any]):
    assert canonical_json(restored(*flattened(tools))) == canonical_json(tools)
