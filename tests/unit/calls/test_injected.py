"""What frameworks hand to a tool by themselves is no argument of it.  (Their own classes: `tests/wire`.)"""

import types
from typing import Annotated, Any

import pytest

from playhead.calls.injected import injected_parameters, without_injected


def class_of(module: str, name: str, *bases: Any) -> Any:
    return types.new_class(name, bases, exec_body=lambda body: body.update(__module__=module))


RunContext = class_of("pydantic_ai.tools", "RunContext")
RunnableConfig = class_of("langchain_core.runnables.config", "RunnableConfig", dict)
InjectedState = class_of("langgraph.prebuilt", "InjectedState", class_of("langchain_core.tools", "InjectedToolArg"))
Mine = class_of("shop.context", "RunContext")


def test_parameters_are_found_by_their_annotations_and_by_what_stands_around_those():
    def tool(order: str, ctx: Any, config: Any, state: Any, kind: Any, note: Any) -> None: ...

    tool.__annotations__ |= {
        "ctx": RunContext,
        "config": RunnableConfig | None,
        "state": Annotated[dict[str, Any], InjectedState()],
        "kind": Annotated[dict[str, Any], InjectedState],
        "note": Annotated[str, "a note"],
    }
    assert injected_parameters(tool) == {"ctx", "config", "state", "kind"}


def test_annotations_that_are_text_are_read_where_the_function_was_written():
    def tool(ctx: Any, mine: Any, later: Any, odd: Any, order: Any) -> None: ...

    texts = {"ctx": "RunContext", "mine": "Mine", "later": "InjectedLater", "odd": "RunContext[", "order": "str"}
    tool.__annotations__ = texts
    assert injected_parameters(tool) == {"ctx"}


def test_a_class_of_the_program_with_such_a_name_is_an_argument():
    def tool(ctx: Any) -> None: ...

    tool.__annotations__["ctx"] = Mine
    assert injected_parameters(tool) == frozenset()


def test_annotations_that_cannot_be_read_are_survived(caplog: pytest.LogCaptureFixture):
    class Odd(type):
        @property
        def __mro__(cls) -> Any:
            raise ZeroDivisionError

    def tool(order: Any) -> None: ...

    tool.__annotations__["order"] = Odd("Odd", (), {})
    assert injected_parameters(tool) == frozenset()
    assert "your program is unaffected" in caplog.text


def test_the_id_of_the_models_call_is_taken_from_what_was_injected():
    context = types.SimpleNamespace(tool_call_id="c1")
    assert without_injected({"ctx": context, "order": "A1"}, frozenset({"ctx"})) == ({"order": "A1"}, "c1")
    assert without_injected({"id": "c2", "order": "A1"}, frozenset({"id"})) == ({"order": "A1"}, "c2")
    assert without_injected({"config": {}, "order": "A1"}, frozenset({"config"})) == ({"order": "A1"}, None)
