"""Functions that are named to be recorded as tools: recorded, answered on resume, and what cannot be is said."""

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.capture import registry
from playhead.errors import ReplayError
from playhead.model import names
from tests.support.journal_reader import Recording, start_recording
from tests.support.logged import messages_of

SEARCH = '''
import functools

calls = []

class Engine:
    def text(self, query, *, limit=2):
        calls.append(query)
        return [{"query": query, "limit": limit}]

    @classmethod
    def of(cls, query):
        calls.append(query)
        return cls.__name__, query

    @staticmethod
    def best(query):
        calls.append(query)
        return query

class Heir(Engine):
    pass

def web_search(query, engine=None):
    """Searches."""
    calls.append(query)
    return {"hits": [query]}

async def slow_search(query):
    calls.append(query)
    return query

@functools.lru_cache
def cached_search(query):
    calls.append(query)
    return query

def all_pages(query):
    yield query

async def all_pages_async(query):
    yield query

THING = object()
'''


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


@pytest.fixture
def search_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module that is not imported yet."""
    name = f"named_search_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SEARCH)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    playhead.uninstrument(*[each for each in playhead.capture.registry.instrumented() if ":" in each])
    for module in [each for each in sys.modules if each.startswith(name)]:
        del sys.modules[module]


def load(name: str) -> Any:
    return importlib.import_module(name)


def test_naming_a_function_imports_nothing(search_module: str):
    assert playhead.instrument(f"{search_module}:web_search") == (f"{search_module}:web_search",)
    assert search_module not in sys.modules


def test_functions_and_methods_of_each_kind_are_tools(recording: Recording, search_module: str):
    paths = ("web_search", "slow_search", "cached_search", "Engine.text", "Engine.of", "Engine.best")
    playhead.instrument(*[f"{search_module}:{path}" for path in paths])
    search = load(search_module)
    with playhead.run("research"):
        assert search.web_search("a") == {"hits": ["a"]}
        assert asyncio.run(search.slow_search("b")) == "b"
        assert search.cached_search("c") == "c"
        assert search.Heir().text("d", limit=1) == [{"query": "d", "limit": 1}]
        assert search.Heir.of("e") == ("Heir", "e")
        assert search.Engine.best("f") == "f"
    seen = recording.read()
    tools = [span.attributes[names.TOOL_NAME] for span in seen.of_kind("tool")]
    assert tools == list(paths)
    assert seen.input("Engine.text") == {"query": "d", "limit": 1}
    assert seen.output("web_search") == {"hits": ["a"]}
    [root] = [span for span in seen.spans if names.RUN_ROOT in span.attributes]
    assert root.attributes[names.RECORDED_FUNCTIONS] == [f"{search_module}:{path}" for path in paths]
    assert (search.web_search.__name__, search.web_search.__doc__) == ("web_search", "Searches.")


def test_a_resumed_run_gets_the_results_and_calls_nothing(recording: Recording, search_module: str):
    playhead.instrument(f"{search_module}:web_search", f"{search_module}:slow_search")
    search = load(search_module)

    def program() -> Any:
        return search.web_search("a"), asyncio.run(search.slow_search("b"))

    with playhead.run("r") as run:
        first = program()
    assert search.calls == ["a", "b"]
    with playhead.resume(str(run.id)) as resumed, playhead.run("r"):
        assert program() == first
    assert search.calls == ["a", "b"]
    assert (resumed.report.live, resumed.report.divergences) == (0, [])


def test_arguments_that_cannot_be_stored_are_recorded_as_by_observe(recording: Recording, search_module: str):
    playhead.instrument(f"{search_module}:web_search")
    search, lock = load(search_module), object()

    @playhead.observe("observed", kind="tool")
    def observed(query: str, engine: object = None) -> dict[str, list[str]]:
        return {"hits": [query]}

    with playhead.run("r"):
        search.web_search("a", engine=lock)
        observed("a", engine=lock)
    seen = recording.read()
    assert seen.input("web_search") == seen.input("observed")
    assert seen.call("web_search").status == 0


def test_a_process_that_does_not_record_the_function_is_refused_such_a_run(recording: Recording, search_module: str):
    playhead.instrument(f"{search_module}:web_search")
    search = load(search_module)
    with playhead.run("r") as run:
        search.web_search("a")
    playhead.uninstrument(f"{search_module}:web_search")
    with (
        pytest.raises(ReplayError, match=f"PLAYHEAD_RECORD_TOOLS={search_module}:web_search"),
        playhead.resume(str(run.id)),
        playhead.run("r"),
    ):
        pass
    assert search.calls == ["a"]


def test_the_setting_names_them_whatever_is_instrumented(monkeypatch: pytest.MonkeyPatch, search_module: str):
    monkeypatch.setenv("PLAYHEAD_RECORD_TOOLS", f"{search_module}:web_search")
    monkeypatch.setattr(registry, "LIBRARIES", {})
    assert playhead.instrument() == (f"{search_module}:web_search",)
    assert playhead.instrument("subprocess") == ("subprocess", f"{search_module}:web_search")
    playhead.uninstrument("subprocess")
    assert f"{search_module}:web_search" in registry.instrumented()


def test_uninstrumented_it_is_the_function_that_it_was(recording: Recording, search_module: str):
    search = load(search_module)
    before = search.web_search
    playhead.instrument(f"{search_module}:web_search")
    kept = search.web_search
    assert kept is not before
    playhead.uninstrument(f"{search_module}:web_search")
    assert search.web_search is before
    with playhead.run("r"):
        assert kept("a") == {"hits": ["a"]}
    assert recording.read().of_kind("tool") == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nothing", "has no nothing"),
        ("No.text", "there is no class No"),
        ("Heir.text", ":Engine.text"),
        ("Engine", "it is a class"),
        ("THING", "it is a object and no function"),
        ("all_pages", "it is a generator"),
        ("all_pages_async", "it is a generator"),
    ],
)
def test_why_a_function_is_not_recorded_is_said_when_its_module_is_imported(
    search_module: str, caplog: pytest.LogCaptureFixture, path: str, reason: str
):
    playhead.instrument(f"{search_module}:{path}")
    assert messages_of(caplog) == []
    load(search_module)
    assert f"{search_module}:{path} is not recorded as a tool" in caplog.text
    assert reason in caplog.text


def test_a_function_under_observe_is_left_to_it(
    recording: Recording, search_module: str, caplog: pytest.LogCaptureFixture
):
    search = load(search_module)
    search.web_search = playhead.observe("mine")(search.web_search)
    playhead.instrument(f"{search_module}:web_search")
    assert "under @observe" in caplog.text
    with playhead.run("r"):
        search.web_search("a")
    assert [span.attributes[names.KIND] for span in recording.read().calls("mine")] == ["step"]


def test_who_has_imported_the_function_before_is_named(
    search_module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    user = f"{search_module}_user"
    (tmp_path / f"{user}.py").write_text(f"from {search_module} import web_search as find\n")
    load(user)
    playhead.instrument(f"{search_module}:web_search")
    assert f"was imported (from {search_module} import web_search) before" in caplog.text
    assert f"by {user}: calls from there are not recorded" in caplog.text


def test_who_imports_the_function_later_gets_the_observed_one(
    search_module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    user = f"{search_module}_user"
    (tmp_path / f"{user}.py").write_text(f"from {search_module} import web_search as find\n")
    playhead.instrument(f"{search_module}:web_search")
    assert load(user).find is load(search_module).web_search
    assert messages_of(caplog) == []


@pytest.mark.parametrize("name", ["no_such_module:f", "json.no_such_module:f"])
def test_a_module_that_does_not_exist_is_said_at_once(name: str, caplog: pytest.LogCaptureFixture):
    playhead.instrument(name)
    assert f"there is no module {name.partition(':')[0]}" in caplog.text
    playhead.uninstrument(name)


@pytest.mark.parametrize("name", ["search:", ":f", "se arch:f", "search:f()"])
def test_what_is_no_name_of_a_function_is_a_warning(name: str, caplog: pytest.LogCaptureFixture):
    assert playhead.instrument(name) == ()
    assert "expected module:function" in caplog.text
