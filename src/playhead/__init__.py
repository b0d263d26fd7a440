"""Playhead: a flight recorder with a rewind handle for LLM agents.

    import playhead
    from playhead import observe

    playhead.instrument("openai")

    @observe
    def agent(task: str) -> str: ...

These names are the public interface; everything else may change.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from playhead.calls.first_use import provide_start

if TYPE_CHECKING:
    # For type checkers: the same names as in the table below.
    from collections.abc import Callable

    from playhead.agent.agent_context import AgentContext as AgentContext
    from playhead.agent.agents import Agent as Agent
    from playhead.agent.mcp_tools import mcp_tools as mcp_tools
    from playhead.agent.results import AgentResult as AgentResult
    from playhead.agent.results import Ask as Ask
    from playhead.agent.tasks import LlmTask as LlmTask
    from playhead.agent.tasks import TaskResult as TaskResult
    from playhead.agent.tools import Tool as Tool
    from playhead.agent.tools import tool as tool
    from playhead.api.caching import cached as cached
    from playhead.api.events import event as event
    from playhead.api.events import metric as metric
    from playhead.api.events import score as score
    from playhead.api.observe import observe as observe
    from playhead.api.promises.answering import answer as answer
    from playhead.api.promises.answering import approve as approve
    from playhead.api.promises.answering import deny as deny
    from playhead.api.promises.answering import open_promises as open_promises
    from playhead.api.promises.asking import approval as approval
    from playhead.api.promises.asking import approval_async as approval_async
    from playhead.api.promises.asking import ask as ask
    from playhead.api.promises.asking import ask_async as ask_async
    from playhead.api.promises.asking import interrupt as interrupt
    from playhead.api.promises.asking import wait_for as wait_for
    from playhead.api.promises.asking import wait_for_async as wait_for_async
    from playhead.api.recorded_values import now as now
    from playhead.api.scope import annotate as annotate
    from playhead.api.scope import checkpoint as checkpoint
    from playhead.api.scope import compressed as compressed
    from playhead.api.scope import current_run_id as current_run_id
    from playhead.api.scope import handoff as handoff
    from playhead.api.scope import idempotency_key as idempotency_key
    from playhead.api.scope import propagate_to_thread as propagate_to_thread
    from playhead.api.scope import run as run
    from playhead.capture.active import doctor as doctor
    from playhead.capture.frameworks.answers import answers as answers
    from playhead.capture.frameworks.answers import answers_async as answers_async
    from playhead.capture.registry import instrument as instrument
    from playhead.capture.registry import uninstrument as uninstrument
    from playhead.client import AsyncClient as AsyncClient
    from playhead.client import Client as Client
    from playhead.configuring import configure as configure
    from playhead.context.notes import notes as notes
    from playhead.context.prompts import Prompt as Prompt
    from playhead.context.reasoning_prompt import REASONING_PROMPT as REASONING_PROMPT
    from playhead.conversations.conversation import Conversation as Conversation
    from playhead.conversations.conversation import conversation as conversation
    from playhead.conversations.conversation import conversation_async as conversation_async
    from playhead.conversations.conversation import list_conversations as list_conversations
    from playhead.conversations.history import History as History
    from playhead.errors import BadRequest as BadRequest
    from playhead.errors import CannotRestore as CannotRestore
    from playhead.errors import ClientError as ClientError
    from playhead.errors import CollectorUnreachable as CollectorUnreachable
    from playhead.errors import Conflict as Conflict
    from playhead.errors import ConversationConflict as ConversationConflict
    from playhead.errors import Denied as Denied
    from playhead.errors import InDoubt as InDoubt
    from playhead.errors import Interrupted as Interrupted
    from playhead.errors import JournalUnusable as JournalUnusable
    from playhead.errors import MaskedContent as MaskedContent
    from playhead.errors import MaxTurnsExceeded as MaxTurnsExceeded
    from playhead.errors import NoRecord as NoRecord
    from playhead.errors import NotAuthorized as NotAuthorized
    from playhead.errors import NotFound as NotFound
    from playhead.errors import OutputInvalid as OutputInvalid
    from playhead.errors import PlayheadError as PlayheadError
    from playhead.errors import ReplayDiverged as ReplayDiverged
    from playhead.errors import ReplayError as ReplayError
    from playhead.errors import RunAlive as RunAlive
    from playhead.errors import RunStopped as RunStopped
    from playhead.errors import RunTakenOver as RunTakenOver
    from playhead.errors import SettingInvalid as SettingInvalid
    from playhead.errors import Suspended as Suspended
    from playhead.errors import ToolArgumentsInvalid as ToolArgumentsInvalid
    from playhead.errors import ToolDenied as ToolDenied
    from playhead.errors import Unanswered as Unanswered
    from playhead.errors import UnrecordedTools as UnrecordedTools
    from playhead.exporting import export_to as export_to
    from playhead.interop.ref_spans import RefLogExporter as RefLogExporter
    from playhead.interop.ref_spans import RefSpanExporter as RefSpanExporter
    from playhead.interop.ref_spans import RefSpanProcessor as RefSpanProcessor
    from playhead.journal.listeners import on_event as on_event
    from playhead.local.reading import read_local as read_local
    from playhead.recording import counters as counters
    from playhead.recording import flush as flush
    from playhead.recording import shutdown as shutdown
    from playhead.replaying.policy import RERUN as RERUN
    from playhead.rewind import fork as fork
    from playhead.rewind import resume as resume

    __version__: str

# Public name → the module that has it. No module of this package may have one of these names: its import would replace
# the function.
_MODULE_OF = {
    "REASONING_PROMPT": "playhead.context.reasoning_prompt",
    "RERUN": "playhead.replaying.policy",
    "Agent": "playhead.agent.agents",
    "AgentContext": "playhead.agent.agent_context",
    "AgentResult": "playhead.agent.results",
    "Ask": "playhead.agent.results",
    "AsyncClient": "playhead.client",
    "BadRequest": "playhead.errors",
    "CannotRestore": "playhead.errors",
    "Client": "playhead.client",
    "ClientError": "playhead.errors",
    "CollectorUnreachable": "playhead.errors",
    "Conflict": "playhead.errors",
    "Conversation": "playhead.conversations.conversation",
    "ConversationConflict": "playhead.errors",
    "Denied": "playhead.errors",
    "History": "playhead.conversations.history",
    "InDoubt": "playhead.errors",
    "Interrupted": "playhead.errors",
    "JournalUnusable": "playhead.errors",
    "LlmTask": "playhead.agent.tasks",
    "MaskedContent": "playhead.errors",
    "MaxTurnsExceeded": "playhead.errors",
    "NoRecord": "playhead.errors",
    "NotAuthorized": "playhead.errors",
    "NotFound": "playhead.errors",
    "OutputInvalid": "playhead.errors",
    "PlayheadError": "playhead.errors",
    "RefLogExporter": "playhead.interop.ref_spans",
    "RefSpanExporter": "playhead.interop.ref_spans",
    "RefSpanProcessor": "playhead.interop.ref_spans",
    "Prompt": "playhead.context.prompts",
    "ReplayDiverged": "playhead.errors",
    "ReplayError": "playhead.errors",
    "RunAlive": "playhead.errors",
    "RunStopped": "playhead.errors",
    "RunTakenOver": "playhead.errors",
    "SettingInvalid": "playhead.errors",
    "Suspended": "playhead.errors",
    "TaskResult": "playhead.agent.tasks",
    "Tool": "playhead.agent.tools",
    "ToolArgumentsInvalid": "playhead.errors",
    "ToolDenied": "playhead.errors",
    "Unanswered": "playhead.errors",
    "UnrecordedTools": "playhead.errors",
    "annotate": "playhead.api.scope",
    "answer": "playhead.api.promises.answering",
    "answers": "playhead.capture.frameworks.answers",
    "answers_async": "playhead.capture.frameworks.answers",
    "approval": "playhead.api.promises.asking",
    "approval_async": "playhead.api.promises.asking",
    "approve": "playhead.api.promises.answering",
    "ask": "playhead.api.promises.asking",
    "ask_async": "playhead.api.promises.asking",
    "cached": "playhead.api.caching",
    "checkpoint": "playhead.api.scope",
    "compressed": "playhead.api.scope",
    "configure": "playhead.configuring",
    "conversation": "playhead.conversations.conversation",
    "conversation_async": "playhead.conversations.conversation",
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
    "list_conversations": "playhead.conversations.conversation",
    "mcp_tools": "playhead.agent.mcp_tools",
    "metric": "playhead.api.events",
    "notes": "playhead.context.notes",
    "now": "playhead.api.recorded_values",
    "observe": "playhead.api.observe",
    "on_event": "playhead.journal.listeners",
    "open_promises": "playhead.api.promises.answering",
    "propagate_to_thread": "playhead.api.scope",
    "read_local": "playhead.local.reading",
    "resume": "playhead.rewind",
    "run": "playhead.api.scope",
    "score": "playhead.api.events",
    "shutdown": "playhead.recording",
    "tool": "playhead.agent.tools",
    "uninstrument": "playhead.capture.registry",
    "wait_for": "playhead.api.promises.asking",
    "wait_for_async": "playhead.api.promises.asking",
}
if not TYPE_CHECKING:
    __all__ = list(_MODULE_OF)

_ALONE = frozenset({"playhead.client", "playhead.errors", "playhead.local.reading"})
_SWITCHES = "playhead.capture.registry"


def __getattr__(name: str) -> Any:
    """Loads a public name on first use. So the command line, tests and programs import only what they use (few need an
    HTTP library)."""
    if name == "__version__":
        value = _version()
    elif (module := _MODULE_OF.get(name)) is not None:
        value = getattr(import_module(module) if module in _ALONE else _recording(module), name)
    else:
        raise AttributeError(f"module 'playhead' has no attribute {name!r}")
    globals()[name] = value
    return value


def _recording(module: str) -> ModuleType:
    """Imports a module that records, and `playhead.configuring`, which it needs. Forks in other threads wait meanwhile.

    The registry of instrumentations needs `playhead.configuring` only with the first library that the program imports.
    """
    from playhead.kernel.forks import delay_forks  # noqa: PLC0415 - `import playhead` does not need it

    with delay_forks():
        if module != _SWITCHES:
            _start_of_recording()
        return import_module(module)


def _start_of_recording() -> "Callable[[], None]":
    """Imports and returns the function that sets recording up from the environment, for the first observed call."""
    from playhead.configuring import start_from_environment  # noqa: PLC0415 - only the first observed call needs it

    return start_from_environment


def __dir__() -> list[str]:
    """Returns the public names, loaded or not, and this module's other names."""
    return sorted({*globals(), *_MODULE_OF})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - reads files: 10 ms

    try:
        return version("playhead")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0"


provide_start(_start_of_recording)
