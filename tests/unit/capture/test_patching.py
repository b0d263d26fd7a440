"""Wrapping a library's functions, and putting them back: by hand-made libraries, and by the real frameworks."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import playhead
from playhead.capture.patching import Instrumentation, Wrap
from tests.support.logged import messages_of

NAME = "a_library_made_by_hand"


class Client:
    """Of the library."""

    def ask(self, what: str) -> str:
        return what


class Inheriting(Client):
    """Has no `ask` of its own."""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    made: Any = ModuleType(NAME)
    made.Client = type("Client", (), {"ask": Client.ask})
    made.Inheriting = type("Inheriting", (made.Client,), {})
    made.ask = lambda what: what
    monkeypatch.setitem(sys.modules, NAME, made)
    return made


def louder(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs).upper()


def of(*paths: str, is_optional: bool = False) -> Instrumentation:
    return Instrumentation([Wrap(NAME, path, louder, is_optional) for path in paths])


def test_functions_and_methods_are_wrapped_and_put_back(library: Any):
    before = library.ask, vars(library.Client)["ask"]
    instrumentation = of("ask", "Client.ask")
    instrumentation.patch()
    assert (library.ask("a"), library.Client().ask("b")) == ("A", "B")
    instrumentation.unpatch()
    assert (library.ask, vars(library.Client)["ask"]) == before


def test_a_second_time_changes_nothing_and_after_undoing_it_is_wrapped_again(library: Any):
    instrumentation = of("ask")
    instrumentation.patch()
    wrapped = library.ask
    instrumentation.patch()
    assert library.ask is wrapped
    instrumentation.unpatch()
    instrumentation.unpatch()
    instrumentation.patch()
    assert library.ask("a") == "A"


def test_beneath_anothers_wrapper_ours_stays_and_does_nothing(library: Any):
    instrumentation = of("ask")
    instrumentation.patch()
    ours: Callable[[str], str] = library.ask
    library.ask = functools.wraps(ours)(lambda what: f"<{ours(what)}>")
    instrumentation.unpatch()
    assert library.ask("a") == "<a>"
    instrumentation.patch()
    assert library.ask("a") == "<A>"


def test_what_was_taken_out_before_it_was_undone_does_nothing(library: Any):
    instrumentation = of("Client.ask")
    instrumentation.patch()
    bound = library.Client().ask
    assert bound("a") == "A"
    instrumentation.unpatch()
    assert bound("a") == "a"


def test_a_method_that_is_inherited_is_wrapped_where_it_is(library: Any):
    instrumentation = of("Client.ask", "Inheriting.ask", is_optional=True)
    instrumentation.patch()
    assert "ask" not in vars(library.Inheriting)
    assert library.Inheriting().ask("a") == "A"


@pytest.mark.parametrize("path", ["answer", "Client.answer", "Server.ask"])
def test_what_is_missing_is_a_warning_unless_it_may_be(library: Any, path: str, caplog: pytest.LogCaptureFixture):
    of(path, is_optional=True).patch()
    assert messages_of(caplog) == []
    of(path, "ask").patch()
    assert "your program is unaffected" in caplog.text
    assert library.ask("a") == "A"


def test_a_module_that_is_imported_later_is_patched_then(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    name = "a_library_imported_later"
    (tmp_path / f"{name}.py").write_text("def ask(what): return what\n")
    monkeypatch.syspath_prepend(tmp_path)
    instrumentation = Instrumentation([Wrap(name, "ask", louder)])
    instrumentation.patch()
    assert name not in sys.modules
    assert import_module(name).ask("a") == "A"
    monkeypatch.delitem(sys.modules, name)
    instrumentation.unpatch()
    assert import_module(name).ask("a") == "a"
    monkeypatch.delitem(sys.modules, name)


WRAPPED = {
    "langchain_core": [("langchain_core.tools.base", "BaseTool", "run")],
    "langgraph": [("langgraph.pregel.main", "Pregel", "invoke"), ("langgraph.pregel.main", "Pregel", "astream")],
    "pydantic_ai": [("pydantic_ai.agent", "Agent", "iter")],
    "agents": [("agents.run", "AgentRunner", "run"), ("agents.tool", "FunctionTool", "on_invoke_tool")],
}


@pytest.mark.parametrize("library", WRAPPED)
def test_a_framework_is_as_it_was_when_it_is_no_longer_instrumented(library: str):
    owners = [(getattr(import_module(module), owner), name) for module, owner, name in WRAPPED[library]]
    before = [vars(owner).get(name) for owner, name in owners]
    playhead.instrument(library)
    assert all(vars(owner)[name] is not was for (owner, name), was in zip(owners, before, strict=True))
    playhead.uninstrument(library)
    assert [vars(owner).get(name) for owner, name in owners] == before
