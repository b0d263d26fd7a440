"""All dialects have one shape."""

import importlib
import pkgutil
from types import ModuleType

import pytest

from playhead import dialect
from playhead.model.message import text_message

SHAPE = {"NAME", "to_message", "from_message", "to_messages", "from_messages", "output_message"}
MODULES = [
    importlib.import_module(f"{dialect.__name__}.{found.name}")
    for found in pkgutil.iter_modules(dialect.__path__)
    if found.name not in {"parts", "langfuse_media", "tool_definitions"}  # what dialects share
]

every_dialect = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.NAME)


@every_dialect
def test_has_the_shape(module: ModuleType):
    assert set(vars(module)) >= SHAPE
    assert module.__name__.rpartition(".")[2].startswith(module.NAME)


@every_dialect
def test_a_plain_message_is_plain_in_every_dialect(module: ModuleType):
    messages = [text_message("system", "be kind"), text_message("user", "hi"), text_message("assistant", "")]
    assert module.to_messages(module.from_messages(messages)) == messages
    assert module.output_message(module.from_message(messages[2])) == (messages[2], None)
