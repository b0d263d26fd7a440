"""Lists the libraries that can be instrumented, and switches instrumentation on and off."""

import importlib
import importlib.util
import sys
from functools import partial
from typing import Protocol, cast

import wrapt

from playhead.errors import SettingInvalid
from playhead.kernel.forks import delay_forks
from playhead.kernel.guard import guarded, log, warn_once

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
    "crewai": "playhead.capture.crewai",
    "autogen_agentchat": "playhead.capture.autogen",
    "claude_agent_sdk": "playhead.capture.claude_agent",
    "smolagents": "playhead.capture.smolagents",
    "strands": "playhead.capture.strands",
    "llama_index.core": "playhead.capture.llama_index",
    "google.adk": "playhead.capture.google_adk",
    "agent_framework": "playhead.capture.agent_framework",
    "ag2": "playhead.capture.ag2",
    "semantic_kernel": "playhead.capture.semantic_kernel",
    "agno": "playhead.capture.agno",
    "dspy": "playhead.capture.dspy",
    "haystack": "playhead.capture.haystack",
}
"""Library's import name → the module that instruments it: clients of models first, then frameworks of agents."""

BORDERS: dict[str, str] = {
    "asyncio": "playhead.capture.borders.asyncio_tasks",
    "celery": "playhead.capture.borders.celery",
    "starlette": "playhead.capture.borders.starlette",
}
"""Import name of a package that starts units of work (a task, a request) → the module that instruments it.
Instrumented with any library: otherwise each call of an agent in a thread pool or in tasks is a run of its own."""

OPT_IN: dict[str, str] = {"subprocess": "playhead.capture.commands"}
"""Recorded only if named in `instrument`, or if a setting asks for it: here PLAYHEAD_RECORD_COMMANDS."""

_requested: set[str] = set()
"""Libraries that are instrumented, or will be when the program imports them."""

_left_alone: set[str] = set()
"""Names in `BORDERS` that the program has switched off."""
_waiting: set[str] = set()
"""Libraries that are patched as soon as the program imports them."""
_hooked: set[str] = set()

_FIRST_MODULE = {"langgraph": "langgraph.pregel"}
"""Namespace package (its import calls no hook) → a module in it that every user of the library imports."""


class Capture(Protocol):
    """The functions of a capture module that switch it on and off."""

    SUPPORTS: str

    def patch(self) -> None:
        """Wraps the library's calls.  A second time changes nothing."""
        ...

    def unpatch(self) -> None:
        """Undoes `patch`."""
        ...


def instrument(*libraries: str) -> tuple[str, ...]:
    """Records the calls of these libraries, or of every installed one that is supported; returns their names.

    Also instruments Celery, Starlette (FastAPI) and asyncio, so that the calls of one request or task are one run; the
    setting `PLAYHEAD_GROUP_CALLS=false` turns that off.  An unknown name, or a library that is not installed, is a
    warning, not an error.
    """
    return tuple(
        name for name in libraries or (*LIBRARIES, *_asked_for()) if _instrument(name, is_explicit=bool(libraries))
    )


def _instrument(name: str, *, is_explicit: bool) -> bool:
    """Returns whether the library is patched, or will be when it is imported."""
    with guarded("instrument %s", name):
        path = _path(name, is_explicit=is_explicit)
        if path is not None:
            _patch_when_imported(name, path)
            _requested.add(name)
            _left_alone.discard(name)
            return True
    return False


def _asked_for() -> tuple[str, ...]:
    from playhead.settings.sdk import load  # noqa: PLC0415 - only where everything is instrumented

    settings = load(on_invalid=lambda sentence: warn_once(sentence, sentence))
    return tuple(OPT_IN) if settings.record_commands else ()


def uninstrument(*libraries: str) -> None:
    """Stops recording the calls of these libraries, or of all."""
    for name in libraries or (*LIBRARIES, *BORDERS, *OPT_IN):
        with guarded("stop instrumenting %s", name):
            _waiting.discard(name)
            _requested.discard(name)
            if libraries and name in BORDERS:
                _left_alone.add(name)
            module = sys.modules.get(_module_of(name) or "")
            if module is not None:
                cast(Capture, module).unpatch()


def instrumented() -> frozenset[str]:
    """Returns the libraries whose calls are recorded in this process, imported or not."""
    return frozenset(_requested)


def is_installed(name: str) -> bool:
    """Whether a library can be imported.  False also if the parent package of a dotted name is missing."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _patch_when_imported(name: str, path: str) -> None:
    """Patches the library now if the program has imported it, else when the program imports it.

    Not earlier: importing a capture module takes longer than everything else at a program's start.
    """
    if name in sys.modules or path in sys.modules:
        _patch(name, path)
        return
    _waiting.add(name)
    if name not in _hooked:
        _hooked.add(name)
        wrapt.register_post_import_hook(partial(_on_import, name, path), _FIRST_MODULE.get(name, name))


def _on_import(name: str, path: str, _: object) -> None:
    with guarded("instrument %s", name):
        if name in _waiting:
            _waiting.discard(name)
            _patch(name, path)


def _patch(name: str, path: str) -> None:
    """Patches the library, and also `BORDERS` unless the settings or the program switch them off."""
    _capture(path).patch()
    if name not in BORDERS and groups_calls():
        for border, module in BORDERS.items():
            if border not in _left_alone and is_installed(border):
                _patch_when_imported(border, module)


def groups_calls() -> bool:
    """Whether the calls of one task or request are grouped into one run.  False if the settings are invalid."""
    from playhead.settings.sdk import load  # noqa: PLC0415 - a program that uses no library needs none of it

    try:
        return load(on_invalid=lambda sentence: warn_once(sentence, sentence)).group_calls
    except SettingInvalid:  # reported when recording starts
        return False


def _capture(path: str) -> Capture:
    """Imports the module that instruments a library, and the modules that record its calls.  All are imported here,
    with the library: in the library's first call, they would delay all others in an event loop."""
    with delay_forks():
        from playhead.calls.runtime import import_configuration  # noqa: PLC0415 - a program that uses no library needs none of it

        import_configuration()
        return cast(Capture, importlib.import_module(path))


def _module_of(name: str) -> str | None:
    return LIBRARIES.get(name) or BORDERS.get(name) or OPT_IN.get(name)


def _path(name: str, *, is_explicit: bool) -> str | None:
    path = _module_of(name)
    if path is None:
        log.warning("cannot instrument %r: known are %s", name, ", ".join(sorted(LIBRARIES | OPT_IN)))
        return None
    if not is_installed(name):
        if is_explicit:
            log.warning("cannot instrument %r: it is not installed in this environment", name)
        return None
    return path
