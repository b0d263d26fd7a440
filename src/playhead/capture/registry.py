"""Lists the libraries that can be instrumented, and switches instrumentation on and off.

Names with a colon (`module:function`) are functions to record as tools: see `named_tools`.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

import wrapt

from playhead.calls.own_code import NamedFunctions
from playhead.capture.entry_points import captures_by_library
from playhead.errors import SettingInvalid
from playhead.kernel.forks import delay_forks
from playhead.kernel.guard import guarded, log, warn_once

if TYPE_CHECKING:
    from playhead.settings.sdk import Settings

LIBRARIES: dict[str, str] = {
    "openai": "playhead.capture.openai",
    "botocore": "playhead.capture.botocore",
    "aiobotocore": "playhead.capture.aiobotocore",
    "google.genai": "playhead.capture.google_genai",
    "mcp": "playhead.capture.mcp",
    "groq": "playhead.capture.groq",
    "huggingface_hub": "playhead.capture.huggingface_hub",
    "together": "playhead.capture.together",
    "anthropic": "playhead.capture.anthropic",
    "litellm": "playhead.capture.litellm",
    "cohere": "playhead.capture.cohere",
    "mistralai.client": "playhead.capture.mistralai",
    "ollama": "playhead.capture.ollama",
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

_NAMED_TOOLS = "playhead.capture.named_tools"

_requested: set[str] = set()
"""Libraries and named functions that are instrumented, or will be when the program imports them."""

_left_alone: set[str] = set()
"""Names in `BORDERS` that the program has switched off."""
_waiting: set[str] = set()
"""Libraries that are patched as soon as the program imports them."""
_hooked: set[str] = set()

_FIRST_MODULE = {"langgraph": "langgraph.pregel"}
"""Namespace package (its import calls no hook) → a module in it that every user of the library imports."""


class Capture(Protocol):
    """What a capture module has: the functions that switch it on and off."""

    SUPPORTS: str
    """The supported versions of the library's distribution, as pip writes them: "openhands-sdk >= 1.58"."""

    def patch(self) -> None:
        """Wraps the library's calls.  A second time changes nothing."""
        ...

    def unpatch(self) -> None:
        """Undoes `patch`."""
        ...


def instrument(*libraries: str) -> tuple[str, ...]:
    """Records the calls of these libraries, or of every installed one that is supported; returns their names.

    Supported are the libraries that Playhead knows, and those of which an installed package brings a capture. A name
    `module:function` (or `module:Class.method`) records that function as a tool, as `@observe(kind="tool")` does, once
    the program imports its module; functions in the setting `PLAYHEAD_RECORD_TOOLS` are always recorded, too.

    Also instruments Celery, Starlette (FastAPI) and asyncio, so that the calls of one request or task are one run; the
    setting `PLAYHEAD_GROUP_CALLS=false` turns that off.  An unknown name, a library that is not installed, or a version
    of it that is not supported is a warning, not an error.
    """
    known = (*LIBRARIES, *brought_captures(), *asked_for()) if not libraries else (*libraries, *_named_functions())
    return tuple(name for name in dict.fromkeys(known) if _instrument(name, is_explicit=name in libraries))


def _instrument(name: str, *, is_explicit: bool) -> bool:
    """Returns whether the library is patched, or the function observed, or will be when it is imported."""
    with guarded("instrument %s", name):
        if ":" in name:
            return _record_function(name, is_explicit=is_explicit)
        path = _path(name, is_explicit=is_explicit)
        if path is not None and _patch_when_imported(name, path):
            _requested.add(name)
            _left_alone.discard(name)
            return True
    return False


def brought_captures() -> Mapping[str, EntryPoint]:
    """Returns the captures that installed packages bring, by the import name of their library."""
    return captures_by_library(frozenset({*LIBRARIES, *BORDERS, *OPT_IN}))


def asked_for() -> tuple[str, ...]:
    """Returns what the settings ask to record besides all libraries: commands, and named functions."""
    settings = _settings()
    if settings is None:
        return ()
    return (*(OPT_IN if settings.record_commands else ()), *settings.record_tools)


def _named_functions() -> tuple[str, ...]:
    settings = _settings()
    return () if settings is None else settings.record_tools


def _settings() -> "Settings | None":
    """Returns the settings; None if they are invalid."""
    from playhead.settings.sdk import load  # noqa: PLC0415 - a program that uses no library needs none of it

    try:
        return load(on_invalid=lambda sentence: warn_once(sentence, sentence))
    except SettingInvalid:  # reported when recording starts
        return None


def uninstrument(*libraries: str) -> None:
    """Stops recording the calls of these libraries and named functions, or of all."""
    for name in libraries or (*LIBRARIES, *BORDERS, *OPT_IN, *brought_captures(), *NamedFunctions.names):
        with guarded("stop instrumenting %s", name):
            _waiting.discard(name)
            _requested.discard(name)
            if libraries and name in BORDERS:
                _left_alone.add(name)
            if ":" in name:
                _stop_recording_function(name)
            elif (module := sys.modules.get(_module_of(name) or "")) is not None:
                _capture_in(name, module).unpatch()


def instrumented() -> frozenset[str]:
    """Returns the libraries and named functions whose calls are recorded in this process, imported or not."""
    return frozenset(_requested)


def is_installed(name: str) -> bool:
    """Whether a library can be imported.  False also if the parent package of a dotted name is missing."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _patch_when_imported(name: str, path: str) -> bool:
    """Patches the library now if the program has imported it, else when the program imports it.  Returns whether it is
    patched or will be.

    Not earlier: importing a capture module takes longer than everything else at a program's start.
    """
    if name in sys.modules or path in sys.modules:
        return _patch(name, path)
    _waiting.add(name)
    if name not in _hooked:
        _hooked.add(name)
        wrapt.register_post_import_hook(partial(_on_import, name, path), _FIRST_MODULE.get(name, name))
    return True


def _on_import(name: str, path: str, _: object) -> None:
    with guarded("instrument %s", name):
        if name in _waiting:
            _waiting.discard(name)
            if not _patch(name, path):
                _requested.discard(name)


def _patch(name: str, path: str) -> bool:
    """Patches the library, and also `BORDERS` unless the settings or the program switch them off.  Leaves a version
    alone that is not supported, and returns False."""
    capture = _capture(name, path)
    if name not in {*BORDERS, *OPT_IN} and not _is_supported(name, capture):
        return False
    capture.patch()
    if name not in BORDERS and groups_calls():
        for border, module in BORDERS.items():
            if border not in _left_alone and is_installed(border):
                _patch_when_imported(border, module)
    return True


def _is_supported(name: str, capture: Capture) -> bool:
    """Whether the capture supports the installed version; logs a warning if not."""
    from playhead.capture.supported import installed_version  # noqa: PLC0415 - imported with the first library

    with guarded("read the version of %s", name):
        installed = installed_version(capture.SUPPORTS)
        if installed is not None and not installed.is_supported:
            about = f"{name} {installed.version} is not recorded: this needs {installed.requirement}"
            warn_once(about, f"{about}; your program is unaffected")
            return False
    return True


def groups_calls() -> bool:
    """Whether the calls of one task or request are grouped into one run.  False if the settings are invalid."""
    settings = _settings()
    return settings is not None and settings.group_calls


def _capture(name: str, path: str) -> Capture:
    """Imports the module that instruments a library, and the modules that record its calls.  Raises AttributeError if
    the module has not the shape of a capture."""
    return _capture_in(name, _import(path))


def _import(path: str) -> ModuleType:
    """Imports a module that records calls, and the modules that it needs.  All are imported here, with the library: in
    the library's first call, they would delay all others in an event loop."""
    with delay_forks():
        from playhead.calls.runtime import import_configuration  # noqa: PLC0415 - a program that uses no library needs none of it

        import_configuration()
        return importlib.import_module(path)


def _capture_in(name: str, module: ModuleType) -> Capture:
    """Returns the module, or the object in it that an entry point names."""
    capture: Any = module
    entry = None if name in LIBRARIES else brought_captures().get(name)
    for attribute in entry.attr.split(".") if entry is not None and entry.attr else ():
        capture = getattr(capture, attribute)
    missing = [member for member in ("SUPPORTS", "patch", "unpatch") if not hasattr(capture, member)]
    if entry is not None and missing:
        raise AttributeError(f"{entry.value} is no capture, since it has no {' and no '.join(missing)}")
    return cast(Capture, capture)


# --- named functions --------------------------------------------------------------------------------------------------


def _record_function(name: str, *, is_explicit: bool) -> bool:
    """Observes the function when the program imports its module, or now.  Returns whether the name is a valid one."""
    from playhead.settings.sdk import read_function_names  # noqa: PLC0415 - see `_settings`

    try:
        read_function_names(name)
    except ValueError:
        log.warning("cannot record %r as a tool: expected module:function or module:Class.method", name)
        return False
    module = name.partition(":")[0]
    _requested.add(name)
    _waiting.add(name)
    NamedFunctions.names = tuple(dict.fromkeys([*NamedFunctions.names, name]))
    if module in sys.modules:
        _on_function_import(name, sys.modules[module])
        return True
    if is_explicit:
        warn_of_missing_modules([name])
    if name not in _hooked:
        _hooked.add(name)
        wrapt.register_post_import_hook(partial(_on_function_import, name), module)
    return True


def _on_function_import(name: str, module: ModuleType) -> None:
    with guarded("record %s as a tool", name):
        if name in _waiting:
            _waiting.discard(name)
            _import(_NAMED_TOOLS).observe_named(name, module)


def _stop_recording_function(name: str) -> None:
    NamedFunctions.names = tuple(each for each in NamedFunctions.names if each != name)
    module = sys.modules.get(_NAMED_TOOLS)
    if module is not None:
        module.stop_observing(name)


def warn_of_missing_modules(functions: Iterable[str] | None = None) -> None:
    """Logs which of these functions, or of all that were named, are in a module that cannot be found."""
    for name in NamedFunctions.names if functions is None else functions:
        with guarded("look for %s", name):
            missing = _missing_module(name)
            if missing is not None:
                log.warning("%s is not recorded as a tool: there is no module %s", name, missing)


def _missing_module(name: str) -> str | None:
    """Returns the module or package in `name` (`module:function`) that cannot be found, without importing anything.

    None: it can be found; or it is not known, since a package around it is not imported yet.
    """
    parts = name.partition(":")[0].split(".")
    modules = [".".join(parts[: count + 1]) for count in range(len(parts))]
    first = next((module for module in modules if module not in sys.modules), None)
    return first if first is not None and not is_installed(first) else None


def _module_of(name: str) -> str | None:
    own = LIBRARIES.get(name) or BORDERS.get(name) or OPT_IN.get(name)
    entry = brought_captures().get(name) if own is None else None
    return own if entry is None else entry.module


def _path(name: str, *, is_explicit: bool) -> str | None:
    path = _module_of(name)
    if path is None:
        log.warning(
            "cannot instrument %r: known are %s", name, ", ".join(sorted({*LIBRARIES, *OPT_IN, *brought_captures()}))
        )
        return None
    if not is_installed(name):
        if is_explicit:
            log.warning("cannot instrument %r: it is not installed in this environment", name)
        return None
    return path
