"""An observed function is still the function: to `inspect`, `typing`, `pickle`, `copy`, and to whoever looks."""

import abc
import asyncio
import copy
import functools
import inspect
import multiprocessing
import pickle
import typing
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import pydantic
import pytest

from playhead import observe
from tests.support.journal_reader import Recording


@observe
def plain(x: int, *, y: str = "a") -> list[int]:
    """Says what it does."""
    return [x]


@observe
async def coroutine(x: int) -> int:
    return x


@observe
def generator() -> Iterator[int]:
    yield 1


@observe
async def async_generator() -> AsyncIterator[int]:
    yield 1


class Tool:
    def __init__(self, factor: int = 2):
        self.factor = factor

    @observe
    def method(self, x: int) -> int:
        return x * self.factor

    @observe
    @staticmethod
    def static(x: int) -> int:
        return x

    @classmethod
    @observe
    def cls_method(cls, x: int) -> int:
        return x


ALL = (plain, coroutine, generator, async_generator)


def test_it_has_the_functions_names_doc_and_module():
    assert plain.__name__ == plain.__qualname__ == "plain"
    assert plain.__doc__ == "Says what it does."
    assert plain.__module__ == __name__
    assert plain.__defaults__ is None
    assert plain.__kwdefaults__ == {"y": "a"}


def test_it_has_the_functions_signature_and_hints():
    assert str(inspect.signature(plain)) == "(x: int, *, y: str = 'a') -> list[int]"
    assert typing.get_type_hints(plain) == {"x": int, "y": str, "return": list[int]}
    assert str(inspect.signature(Tool(1).method)) == "(x: int) -> int"
    assert str(inspect.signature(Tool.method)) == "(self, x: int) -> int"


@pytest.mark.parametrize(
    "question",
    [
        inspect.isfunction,
        inspect.iscoroutinefunction,
        asyncio.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
        inspect.isroutine,
        callable,
    ],
)
def test_inspect_says_the_same_as_of_the_function(question: typing.Callable[[object], bool]):
    assert [question(f) for f in ALL] == [question(inspect.unwrap(f)) for f in ALL]


def test_inspect_says_the_same_of_a_method():
    assert inspect.ismethod(Tool(1).method)
    assert inspect.isfunction(Tool.static)


def test_source_and_lines_are_found():
    assert "Says what it does" in inspect.getsource(plain)


def test_it_pickles_as_functions_do():
    assert pickle.loads(pickle.dumps(plain)) is plain
    assert pickle.loads(pickle.dumps(coroutine)) is coroutine


def test_methods_pickle_with_their_object():
    assert pickle.loads(pickle.dumps(Tool(3).method))(2) == 6
    assert pickle.loads(pickle.dumps(Tool.static))(2) == 2
    assert pickle.loads(pickle.dumps(Tool.cls_method))(2) == 2


def test_copies_are_what_copies_of_functions_are():
    assert copy.copy(plain) is plain
    assert copy.deepcopy(plain) is plain
    tool = Tool(3)
    twin = copy.deepcopy({"call": tool.method})["call"]
    tool.factor = 100
    assert twin(2) == 6


def test_functions_are_equal_hashable_and_weakly_referable():
    tool = Tool(1)
    assert tool.method == tool.method
    assert hash(tool.method) == hash(tool.method)
    assert plain in {plain}
    assert weakref.ref(plain)() is plain


def test_abstract_methods_stay_abstract():
    class Base(abc.ABC):
        @observe
        @abc.abstractmethod
        def work(self) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Base()  # pyright: ignore[reportAbstractUsage]


def test_singledispatch_works_on_top(recording: Recording):
    @functools.singledispatch
    @observe
    def show(x: object) -> str:
        return "object"

    @show.register
    @observe
    def _(x: int) -> str:
        return "int"

    assert (show(1), show("a")) == ("int", "object")


def test_coroutines_and_generators_have_the_functions_name(recording: Recording):
    made = coroutine(1)
    assert (made.__name__, made.__qualname__) == ("coroutine", "coroutine")
    assert inspect.iscoroutine(made)
    made.close()
    assert generator().__name__ == "generator"  # pyright: ignore[reportAttributeAccessIssue]
    assert inspect.isgenerator(generator())
    assert inspect.isasyncgen(async_generator())


@pytest.mark.parametrize("function", [plain, coroutine, generator, async_generator])
def test_wrong_arguments_are_an_error_at_the_call(recording: Recording, function: typing.Any):
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
        function(wrong=1)


def test_what_is_no_function_is_left_as_it_is(recording: Recording, caplog: pytest.LogCaptureFixture):
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    thing = Broken()
    assert observe(cast(Any, thing)) is thing
    assert observe(Tool) is Tool
    assert observe(cast(Any, 5)) == 5
    assert "decorate functions or methods" in caplog.text


def test_an_unknown_kind_is_a_step_with_one_warning(recording: Recording, caplog: pytest.LogCaptureFixture):
    for _ in range(2):
        with observe("x", kind="magic"):  # pyright: ignore[reportArgumentType]
            pass
    assert caplog.text.count("expected one of agent, llm, tool") == 1


def double(x: int) -> int:
    return plain(x)[0] * 2


@pytest.mark.slow
def test_observed_functions_work_in_processes_of_a_pool(recording: Recording):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(plain, [1]) == [[1]]
        assert pool.map(double, [2]) == [4]


class Declared(pydantic.BaseModel, from_attributes=True):
    schema_of: str | None = None


class Request(pydantic.BaseModel):
    tools: list[Declared | Callable[..., Any]]


@pytest.mark.parametrize("function", [plain, coroutine, Tool().method])
def test_pydantic_takes_it_for_a_function_and_not_for_an_object_with_attributes(function: Callable[..., Any]):
    assert Request(tools=[function]).tools == [function]
