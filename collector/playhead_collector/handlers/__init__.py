"""analysis, forward, live → [handlers] → workers, serve.  Answers the operations of `playhead.wire.operations`.

A handler has the parameters of its operation. What else it needs comes with its first parameter (`asking`). It knows
neither HTTP nor where it runs: in the process that serves, in a worker process, or in the command over the journal.

    handling   handlers and how they are called       asking   what a handler is given: store, runs, prices, models
    replies    answers that are more than JSON        conditions   conditions for runs, from their parameters
    runs, moments, suspects, scores ...               the handlers, a file per class of operations
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from playhead.wire.operations.across import AcrossOperations
from playhead.wire.operations.calls import CallOperations
from playhead.wire.operations.compare import CompareOperations
from playhead.wire.operations.compression import CompressionOperations
from playhead.wire.operations.content import ContentOperations, ScopeOperations
from playhead.wire.operations.conversations import ConversationOperations
from playhead.wire.operations.exports import ExportOperations
from playhead.wire.operations.forgetting import ForgettingOperations
from playhead.wire.operations.forward import ForwardOperations
from playhead.wire.operations.keys import KeyOperations
from playhead.wire.operations.leases import LeaseOperations
from playhead.wire.operations.moments import DiffOperations, MomentOperations
from playhead.wire.operations.notes import NoteOperations
from playhead.wire.operations.operation import DeclaredOperation
from playhead.wire.operations.projects import ProjectOperations
from playhead.wire.operations.promises import PromiseOperations
from playhead.wire.operations.reasoning import ReasoningOperations
from playhead.wire.operations.redaction import RedactionOperations
from playhead.wire.operations.retention import RetentionOperations
from playhead.wire.operations.runs import RunOperations
from playhead.wire.operations.scorers import ScorerOperations
from playhead.wire.operations.scores import ScoreOperations
from playhead.wire.operations.search import SearchOperations
from playhead.wire.operations.storage import StorageOperations
from playhead.wire.operations.suspects import SuspectOperations
from playhead.wire.operations.tokens import TokenOperations
from playhead.wire.operations.turns import TurnOperations
from playhead.wire.operations.verdict import VerdictOperations
from playhead.wire.operations.waterfall import WaterfallOperations
from playhead.wire.operations.why import WhyOperations
from playhead_collector.handlers.handling import Handler, handlers_in

_MODULES: Mapping[type, str] = {
    MomentOperations: "moments",
    CallOperations: "calls",
    LeaseOperations: "leases",
    ProjectOperations: "projects",
    RedactionOperations: "redaction",
    RunOperations: "runs",
    ScoreOperations: "scores",
    ScorerOperations: "scorers",
    NoteOperations: "notes",
    ConversationOperations: "conversations",
    VerdictOperations: "verdict",
    TurnOperations: "turns",
    SuspectOperations: "suspects",
    ReasoningOperations: "reasoning",
    AcrossOperations: "across",
    SearchOperations: "search",
    DiffOperations: "diff",
    CompareOperations: "compare",
    CompressionOperations: "compression",
    TokenOperations: "tokens",
    WaterfallOperations: "waterfall",
    WhyOperations: "why",
    ContentOperations: "content",
    ScopeOperations: "content",
    ExportOperations: "exports",
    PromiseOperations: "promises",
    KeyOperations: "keys",
    StorageOperations: "storage",
    ForgettingOperations: "forgetting",
    RetentionOperations: "retention",
    ForwardOperations: "forward",
}
"""Module with the handlers of each class of operations."""


@cache
def handler_of(operation: DeclaredOperation) -> Handler:
    """Returns the handler of an operation. Imports the module of its subject, and no other: a command that asks one
    question loads what that one needs."""
    module = _MODULES.get(operation.owner or object)
    if module is None:
        raise LookupError(f"no module has the handlers of {operation.owner}: name it in `handlers/__init__.py`")
    return handlers_in(import_module(f"playhead_collector.handlers.{module}"))[operation.key]
