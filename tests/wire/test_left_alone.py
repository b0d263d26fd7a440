"""Which methods of the clients are wrapped: those that call a model, and no others.

Realtime sessions, batches, files, token counts and all else that a client can do go on as they were.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import anthropic.resources
import openai.resources
import pytest
import wrapt

import playhead


def wrapped(package: ModuleType) -> Iterator[str]:
    """Class and name of each wrapped method that a module of the package defines, with the module below the package."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module: Any = importlib.import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                for name, value in vars(kind).items():
                    if isinstance(value, wrapt.FunctionWrapper):
                        yield f"{found.name.removeprefix(package.__name__ + '.')}:{kind.__name__}.{name}"


def methods(module: str, kind: str, *names: str) -> set[str]:
    return {f"{module}:{prefix}{kind}.{name}" for prefix in ("", "Async") for name in names}


@pytest.fixture(autouse=True)
def _instrumented() -> Iterator[None]:
    playhead.instrument("openai", "anthropic")
    yield
    playhead.uninstrument("openai", "anthropic")


def test_of_openai_realtime_sessions_batches_and_all_else_are_left_alone():
    importlib.import_module("openai.resources.realtime.realtime")  # there is such a thing to be left alone
    assert set(wrapped(openai.resources)) == {
        *methods("chat.completions.completions", "Completions", "create", "parse"),
        *methods("responses.responses", "Responses", "create", "parse", "retrieve", "compact"),
        *methods("completions", "Completions", "create"),
        *methods("embeddings", "Embeddings", "create"),
    }


def test_of_anthropic_batches_and_token_counts_are_left_alone():
    importlib.import_module("anthropic.resources.messages.batches")
    assert set(wrapped(anthropic.resources)) == {
        *methods("messages.messages", "Messages", "create", "parse", "stream"),
        *methods("beta.messages.messages", "Messages", "create", "parse", "stream"),
    }
