"""Which methods of the clients are wrapped: those that call a language model, and no others."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import groq.resources
import pytest
import together.resources
import wrapt
from huggingface_hub import AsyncInferenceClient, InferenceClient

import playhead


@pytest.fixture(autouse=True)
def _instrumented() -> Iterator[None]:
    playhead.instrument("groq", "huggingface_hub", "together")
    yield
    playhead.uninstrument("groq", "huggingface_hub", "together")


def wrapped(package: ModuleType) -> Iterator[str]:
    """Module below the package, class and name of each wrapped method."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module: Any = importlib.import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                for name in wrapped_in(kind):
                    yield f"{found.name.removeprefix(package.__name__ + '.')}:{kind.__name__}.{name}"


def wrapped_in(kind: type) -> list[str]:
    return [name for name, value in vars(kind).items() if isinstance(value, wrapt.FunctionWrapper)]


def methods(module: str, kind: str) -> set[str]:
    return {f"{module}:{prefix}{kind}.create" for prefix in ("", "Async")}


def test_of_groq_audio_files_and_batches_are_left_alone():
    assert {*wrapped(groq.resources)} == methods("chat.completions", "Completions") | methods(
        "embeddings", "Embeddings"
    )


def test_of_together_images_audio_and_jobs_are_left_alone():
    assert {*wrapped(together.resources)} == {
        *methods("chat.completions", "CompletionsResource"),
        *methods("completions", "CompletionsResource"),
        *methods("embeddings", "EmbeddingsResource"),
    }


@pytest.mark.parametrize("kind", [InferenceClient, AsyncInferenceClient])
def test_of_huggingface_hub_images_audio_and_other_tasks_are_left_alone(kind: type):
    assert wrapped_in(kind) == ["chat_completion", "feature_extraction", "text_generation"]
