"""The libraries that can be instrumented; switches instrumentation on and off."""

import importlib
import importlib.util
from typing import Protocol, cast

from playhead.api.guard import log, swallowed
from playhead.model.objects.interrupts import let_through

LIBRARIES: dict[str, str] = {
    "openai": "playhead.capture.openai",
    "botocore": "playhead.capture.botocore",
    "google.genai": "playhead.capture.google_genai",
    "mcp": "playhead.capture.mcp",
    "anthropic": "playhead.capture.anthropic",
    "litellm": "playhead.capture.litellm",
    "agents": "playhead.capture.openai_agents",
    "langchain_core": "playhead.capture.langchain",
    "langgraph": "playhead.capture.langgraph",
    "pydantic_ai": "playhead.capture.pydantic_ai",
}
"""Library's import name → the module that instruments it: clients of models first, then frameworks of agents."""


class Capture(Protocol):
    """The part of a capture module's shape that switches it on and off."""

    SUPPORTS: str

    def patch(self) -> None:
        """Wraps the library's calls.  A second time changes nothing."""
        ...

    def unpatch(self) -> None:
        """Undoes `patch`."""
        ...


def instrument(*libraries: str) -> tuple[str, ...]:
    """Records the calls of these libraries, or of every installed one that is supported; returns their names.

    An unknown name, or a library that is not installed, is a warning, not an error.
    """
    done: list[str] = []
    for name in libraries or LIBRARIES:
        try:
            module = _capture(name, is_explicit=bool(libraries))
            if module is not None:
                module.patch()
                done.append(name)
        except BaseException as error:  # noqa: BLE001 - the guard
            let_through(error)
            swallowed(f"instrument {name}", error)
    return tuple(done)


def uninstrument(*libraries: str) -> None:
    """Stops recording the calls of these libraries, or of all."""
    for name in libraries or LIBRARIES:
        try:
            module = _capture(name, is_explicit=False)
            if module is not None:
                module.unpatch()
        except BaseException as error:  # noqa: BLE001 - the guard
            let_through(error)
            swallowed(f"stop instrumenting {name}", error)


def is_installed(name: str) -> bool:
    """Whether a library can be imported; a package that it is in may be, too, or may not be there."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _capture(name: str, *, is_explicit: bool) -> Capture | None:
    path = LIBRARIES.get(name)
    if path is None:
        log.warning("cannot instrument %r: known are %s", name, ", ".join(sorted(LIBRARIES)))
        return None
    if not is_installed(name):
        if is_explicit:
            log.warning("cannot instrument %r: it is not installed in this environment", name)
        return None
    return cast(Capture, importlib.import_module(path))
