"""Playhead: a flight recorder with a rewind handle for LLM agents.

    import playhead
    from playhead import observe

    playhead.instrument("openai")

    @observe
    def agent(task: str) -> str: ...

These names are the public interface; everything else may change.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from playhead.calls.first_use import provide_start

if TYPE_CHECKING:
    from collections.abc import Callable

    from playhead.api.events import event, metric, score
    from playhead.api.observe import observe
    from playhead.api.promises.answering import answer, approve, deny, open_promises
    from playhead.api.promises.asking import (
        approval,
        approval_async,
        ask,
        ask_async,
        interrupt,
        wait_for,
        wait_for_async,
    )
    from playhead.api.recorded_values import now
    from playhead.api.scope import (
        annotate,
        checkpoint,
        compressed,
        current_run_id,
        handoff,
        idempotency_key,
        propagate,
        run,
    )
    from playhead.capture.active import doctor
    from playhead.capture.frameworks.answers import answers, answers_async
    from playhead.capture.registry import instrument, uninstrument
    from playhead.client import AsyncClient, Client
    from playhead.configure import configure
    from playhead.errors import (
        Denied,
        InDoubt,
        Interrupted,
        NoRecord,
        PlayheadError,
        ReplayDiverged,
        RunAlive,
        RunTakenOver,
        Suspended,
        Unanswered,
    )
    from playhead.exporting import export_to
    from playhead.interop.ref_spans import RefLogExporter, RefSpanExporter, RefSpanProcessor
    from playhead.journal.listeners import on_event
    from playhead.local.replaying import replay
    from playhead.recording import counters, flush, shutdown
    from playhead.replay.policy import RERUN
    from playhead.rewind import fork, resume

    __version__: str

__all__ = [
    "RERUN",
    "AsyncClient",
    "Client",
    "Denied",
    "InDoubt",
    "Interrupted",
    "NoRecord",
    "PlayheadError",
    "RefLogExporter",
    "RefSpanExporter",
    "RefSpanProcessor",
    "ReplayDiverged",
    "RunAlive",
    "RunTakenOver",
    "Suspended",
    "Unanswered",
    "annotate",
    "answer",
    "answers",
    "answers_async",
    "approval",
    "approval_async",
    "approve",
    "ask",
    "ask_async",
    "checkpoint",
    "compressed",
    "configure",
    "counters",
    "current_run_id",
    "deny",
    "doctor",
    "event",
    "export_to",
    "flush",
    "fork",
    "handoff",
    "idempotency_key",
    "instrument",
    "interrupt",
    "metric",
    "now",
    "observe",
    "on_event",
    "open_promises",
    "propagate",
    "replay",
    "resume",
    "run",
    "score",
    "shutdown",
    "uninstrument",
    "wait_for",
    "wait_for_async",
]

_LAZY = {
    "RERUN": "playhead.replay.policy",
    "AsyncClient": "playhead.client",
    "Client": "playhead.client",
    "Denied": "playhead.errors",
    "InDoubt": "playhead.errors",
    "Interrupted": "playhead.errors",
    "NoRecord": "playhead.errors",
    "PlayheadError": "playhead.errors",
    "RefLogExporter": "playhead.interop.ref_spans",
    "RefSpanExporter": "playhead.interop.ref_spans",
    "RefSpanProcessor": "playhead.interop.ref_spans",
    "ReplayDiverged": "playhead.errors",
    "RunAlive": "playhead.errors",
    "RunTakenOver": "playhead.errors",
    "Suspended": "playhead.errors",
    "Unanswered": "playhead.errors",
    "annotate": "playhead.api.scope",
    "answer": "playhead.api.promises.answering",
    "answers": "playhead.capture.frameworks.answers",
    "answers_async": "playhead.capture.frameworks.answers",
    "approval": "playhead.api.promises.asking",
    "approval_async": "playhead.api.promises.asking",
    "approve": "playhead.api.promises.answering",
    "ask": "playhead.api.promises.asking",
    "ask_async": "playhead.api.promises.asking",
    "checkpoint": "playhead.api.scope",
    "compressed": "playhead.api.scope",
    "configure": "playhead.configure",
    "counters": "playhead.recording",
    "current_run_id": "playhead.api.scope",
    "deny": "playhead.api.promises.answering",
    "doctor": "playhead.capture.active",
    "event": "playhead.api.events",
    "export_to": "playhead.exporting",
    "flush": "playhead.recording",
    "fork": "playhead.rewind",
    "handoff": "playhead.api.scope",
    "idempotency_key": "playhead.api.scope",
    "instrument": "playhead.capture.registry",
    "interrupt": "playhead.api.promises.asking",
    "metric": "playhead.api.events",
    "now": "playhead.api.recorded_values",
    "observe": "playhead.api.observe",
    "on_event": "playhead.journal.listeners",
    "open_promises": "playhead.api.promises.answering",
    "propagate": "playhead.api.scope",
    "replay": "playhead.local.replaying",
    "resume": "playhead.rewind",
    "run": "playhead.api.scope",
    "score": "playhead.api.events",
    "shutdown": "playhead.recording",
    "uninstrument": "playhead.capture.registry",
    "wait_for": "playhead.api.promises.asking",
    "wait_for_async": "playhead.api.promises.asking",
}

_ALONE = frozenset({"playhead.client", "playhead.errors", "playhead.local.replaying"})
_SWITCHES = "playhead.capture.registry"


class _Package(ModuleType):
    """Module class of this package. Importing a submodule with the name of a public function (`configure`, `replay`)
    does not replace the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _LAZY and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    """Loads a public name on first use. So the command line, tests and programs import only what they use (few need an
    HTTP library)."""
    if name == "__version__":
        value = _version()
    elif (module := _LAZY.get(name)) is not None:
        value = getattr(import_module(module) if module in _ALONE else _recording(module), name)
    else:
        raise AttributeError(f"module 'playhead' has no attribute {name!r}")
    globals()[name] = value
    return value


def _recording(module: str) -> ModuleType:
    """Imports a module that records, and `playhead.configure`, which it needs. Forks in other threads wait meanwhile.

    The registry of instrumentations needs `playhead.configure` only with the first library that the program imports.
    """
    from playhead.kernel.forks import delay_forks  # noqa: PLC0415 - `import playhead` does not need it

    with delay_forks():
        if module != _SWITCHES:
            _start_of_recording()
        return import_module(module)


def _start_of_recording() -> "Callable[[], None]":
    """Imports and returns the function that sets recording up from the environment, for the first observed call."""
    from playhead.configure import start_from_environment  # noqa: PLC0415 - only the first observed call needs it

    return start_from_environment


def __dir__() -> list[str]:
    """Returns the public names, loaded or not, and this module's other names."""
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - reads files: 10 ms

    try:
        return version("playhead")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0"


provide_start(_start_of_recording)
sys.modules[__name__].__class__ = _Package
