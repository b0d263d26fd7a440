"""Tools: what a model is told of a function, and what the function gets of what a model gave."""

import asyncio
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

import playhead
from playhead.agent.agent_context import AgentContext
from playhead.agent.outputs import output_type
from playhead.agent.tools import Tool, result_text
from playhead.errors import OutputInvalid, ToolArgumentsInvalid
from playhead.testing.recorder import RunRecorder


@pytest.fixture(autouse=True)
def in_memory(playhead_recorder: RunRecorder) -> None:
    """Nothing is recorded elsewhere."""


class Address(BaseModel):
    street: str
    number: int


@playhead.tool
def ship(order: str, to: Address, speed: Literal["slow", "fast"] = "slow", copy: int = 1) -> str:
    """Ships an order.

    Takes a day.

    Args:
        order: id of the order
        to: where it goes, with
            the number of the house
        speed (str): how fast
    """
    return f"{order} to {to.street} {to.number}, {speed}, {copy}"


def test_the_model_is_told_what_signature_and_docstring_say():
    told = ship.definition
    assert told.name == "ship"
    assert told.description == "Ships an order.\n\nTakes a day."
    schema: Any = told.parameters
    assert schema["required"] == ["order", "to"]
    assert schema["properties"]["order"] == {"description": "id of the order", "title": "Order", "type": "string"}
    assert schema["properties"]["to"]["description"] == "where it goes, with the number of the house"
    assert schema["properties"]["speed"]["enum"] == ["slow", "fast"]
    assert schema["properties"]["speed"]["default"] == "slow"
    assert schema["$defs"]["Address"]["required"] == ["street", "number"]


def test_parameters_of_a_docstring_in_sphinx_form_are_read():
    @playhead.tool
    def find(word: str) -> str:
        """Finds a word.

        :param str word: the word
        """
        return word

    assert find.definition.description == "Finds a word."
    schema: Any = find.definition.parameters
    assert schema["properties"]["word"]["description"] == "the word"


def test_arguments_become_what_the_function_takes():
    values = ship.signature.read({"order": "A1", "to": {"street": "Elm", "number": "7"}})
    assert values == {"order": "A1", "to": Address(street="Elm", number=7)}  # without defaults: the function has them
    assert ship(**values) == "A1 to Elm 7, slow, 1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{not json", "no JSON object"),
        (None, "no JSON object"),
        ({"order": "A1"}, "to: Field required"),
        ({"order": "A1", "to": {"street": "Elm", "number": "many"}}, "to.number: Input should be a valid integer"),
    ],
)
def test_arguments_that_do_not_fit_are_said_in_words(arguments: Any, said: str):
    with pytest.raises(ToolArgumentsInvalid, match=said):
        ship.signature.read(arguments)


def test_a_tool_is_called_as_the_function_and_observed(playhead_recorder: RunRecorder):
    with playhead.run("shop"):
        assert ship("A1", Address(street="Elm", number=7)) == "A1 to Elm 7, slow, 1"
    [call] = playhead_recorder.last.tool_calls
    assert call.name == "ship"
    assert call.arguments["order"] == "A1"


def test_coroutines_stay_coroutines(playhead_recorder: RunRecorder):
    @playhead.tool(name="weather")
    async def look_outside(city: str) -> str:
        return f"sun in {city}"

    async def main() -> str:
        async with playhead.run("w"):
            return await look_outside("Oslo")

    assert asyncio.run(main()) == "sun in Oslo"
    [call] = playhead_recorder.last.tool_calls
    assert call.name == "weather"


class Shop:
    def __init__(self, stock: int) -> None:
        self.stock = stock

    @playhead.tool(writes=True)
    def take(self, count: int) -> int:
        """Takes from the stock."""
        self.stock -= count
        return self.stock


def test_a_method_is_a_tool_of_its_object():
    first, second = Shop(10), Shop(20)
    assert first.take.definition.parameters["required"] == ["count"]
    assert first.take.writes
    assert first.take.signature.read({"count": 3}) == {"count": 3}
    assert (first.take(3), second.take(1)) == (7, 19)
    assert isinstance(first.take, Tool)


def test_the_context_is_filled_in_and_not_told():
    @playhead.tool
    def who(name: str, ctx: AgentContext[int]) -> str:
        return f"{name} {ctx.deps}"

    assert who.signature.context == "ctx"
    schema: Any = who.definition.parameters
    assert [*schema["properties"]] == ["name"]


def test_a_tool_without_parameters_has_an_empty_object():
    assert playhead.tool(lambda: 1).definition.parameters == {"type": "object", "properties": {}}


def test_parameters_without_a_name_are_refused():
    def several(*words: str) -> str:
        return " ".join(words)

    with pytest.raises(TypeError, match="a model gives arguments by name"):
        _ = playhead.tool(several).definition


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is", "as it is"),
        (None, "null"),
        ({"a": [1, 2.5]}, '{"a":[1,2.5]}'),
        (Address(street="Elm", number=1), '{"street":"Elm","number":1}'),
        (Point(3), '{"x":3}'),
        (1 + 2j, '"1+2j"'),
    ],
)
def test_results_are_texts_for_the_model(result: Any, text: str):
    assert result_text(result) == text


def test_a_tool_that_writes_is_not_made_of_a_cached_function():
    @playhead.cached
    def price(order: str) -> str:
        """Says what an order costs."""
        return f"{order} costs 5"

    with pytest.raises(ValueError, match="tool price: results of a tool that writes are not cached"):
        playhead.tool(writes=True)(price)
    assert playhead.tool(price)("A1") == "A1 costs 5"


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    kind: Literal["a", "b"]
    number: int


def test_a_strict_type_takes_what_json_can_say():
    @playhead.tool
    def book(when: Strict) -> str:
        """Books."""
        return when.day.isoformat()

    given = {"when": {"day": "2026-01-02", "kind": "a", "number": 2**70}}
    assert book.signature.read(given)["when"] == Strict(day=date(2026, 1, 2), kind="a", number=2**70)


def test_an_answer_of_a_strict_type_is_read_with_all_digits():
    read = output_type(Strict)
    assert read is not None
    text = f'Here it is: {{"day": "2026-01-02", "kind": "b", "number": {2**70}}}'
    assert read.read(text) == Strict(day=date(2026, 1, 2), kind="b", number=2**70)


def test_an_answer_that_is_a_json_text_may_have_brackets_in_it():
    read = output_type(Literal["[x]", "y"])
    assert read is not None
    assert read.read('"[x]"') == "[x]"
    assert read.read('{"result": "y"}') == "y"
    with pytest.raises(OutputInvalid, match="no JSON"):
        read.read("NaN")


class Store:
    @playhead.tool
    @classmethod
    def look(cls, order: str) -> str:
        """Looks."""
        return f"{cls.__name__} {order}"

    @playhead.tool
    @staticmethod
    def find(order: str) -> str:
        """Finds."""
        return order


class Bakery(Store):
    pass


def test_class_methods_and_static_methods_are_tools():
    assert (Store.look("A1"), Bakery.look("A1"), Bakery().look("A1")) == ("Store A1", "Bakery A1", "Bakery A1")
    assert (Store.find("A1"), Store().find("A1")) == ("A1", "A1")
    for each in (Store.look, Store().look, Store.find):
        assert each.definition.parameters["required"] == ["order"]


def test_attributes_of_a_function_are_not_those_of_its_tool():
    def look(order: str) -> str:
        return order

    for name in ("name", "writes", "approval", "signature"):
        setattr(look, name, "of the function")
    made = playhead.tool(look)
    assert (made.name, made.writes, made.approval) == ("look", None, None)
    assert made.definition.parameters["required"] == ["order"]
