"""Playhead: a flight recorder with a rewind handle for LLM agents.

    import playhead
    from playhead import observe

    playhead.instrument("openai")

    @observe
    def agent(task: str) -> str: ...

These names are the public interface; everything else may change.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from playhead.api.evaluation.scoring import score
from playhead.api.events.own_events import event, metric
from playhead.api.observe import observe
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
from playhead.capture.registry import instrument, uninstrument
from playhead.configure import configure
from playhead.errors import (
    Denied,
    InDoubt,
    Interrupted,
    NoRecord,
    PlayheadError,
    ReplayDiverged,
    RunAlive,
    Suspended,
    Unanswered,
)
from playhead.journal.listeners import on_event
from playhead.recording import counters, flush, shutdown

if TYPE_CHECKING:
    from playhead.capture.frameworks.answers import answers, answers_async
    from playhead.capture.others.active import doctor
    from playhead.client import AsyncClient, Client
    from playhead.exporting import export_to
    from playhead.interop.ref_exporter import RefLogExporter, RefSpanExporter
    from playhead.interop.ref_processor import RefSpanProcessor
    from playhead.replay.policy import RERUN
    from playhead.rewind import fork, resume

try:
    __version__ = _version("playhead")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0"

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
    "Suspended",
    "Unanswered",
    "annotate",
    "answers",
    "answers_async",
    "approval",
    "approval_async",
    "ask",
    "ask_async",
    "checkpoint",
    "compressed",
    "configure",
    "counters",
    "current_run_id",
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
    "propagate",
    "resume",
    "run",
    "score",
    "shutdown",
    "uninstrument",
    "wait_for",
    "wait_for_async",
]

_LAZY = {
    "AsyncClient": "playhead.client",
    "Client": "playhead.client",
    "RefLogExporter": "playhead.interop.ref_exporter",
    "RefSpanExporter": "playhead.interop.ref_exporter",
    "RefSpanProcessor": "playhead.interop.ref_processor",
    "RERUN": "playhead.replay.policy",
    "answers": "playhead.capture.frameworks.answers",
    "answers_async": "playhead.capture.frameworks.answers",
    "doctor": "playhead.capture.others.active",
    "export_to": "playhead.exporting",
    "fork": "playhead.rewind",
    "resume": "playhead.rewind",
}


def __getattr__(name: str) -> Any:
    """What few programs need is loaded when it is asked for: the client has an HTTP library, for example."""
    module = _LAZY.get(name)
    if module is not None:
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'playhead' has no attribute {name!r}")
