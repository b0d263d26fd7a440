"""All declared operations, and which of them answers a request."""

import re
from functools import cache
from typing import Final

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
from playhead.wire.operations.operation import DeclaredOperation, operations_of, path_pattern
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

PREFIX: Final = "/api/v1"
"""Path below which all operations are."""


class DeclaredOperations(
    RunOperations,
    VerdictOperations,
    TurnOperations,
    MomentOperations,
    CallOperations,
    LeaseOperations,
    DiffOperations,
    CompareOperations,
    CompressionOperations,
    TokenOperations,
    WaterfallOperations,
    WhyOperations,
    ReasoningOperations,
    SuspectOperations,
    ScoreOperations,
    ScorerOperations,
    NoteOperations,
    RetentionOperations,
    ConversationOperations,
    AcrossOperations,
    SearchOperations,
    ContentOperations,
    ScopeOperations,
    ExportOperations,
    PromiseOperations,
    KeyOperations,
    ProjectOperations,
    RedactionOperations,
    StorageOperations,
    ForgettingOperations,
    ForwardOperations,
):
    """All declared operations: both clients inherit them."""


@cache
def all_operations() -> tuple[DeclaredOperation, ...]:
    """Returns all declared operations, in their order."""
    owners = DeclaredOperations.__mro__[1:-1]
    return tuple(operation for owner in owners for operation in operations_of(owner))


@cache
def operations_by_key() -> dict[str, DeclaredOperation]:
    """Returns all declared operations by their name, such as `MomentOperations.state`."""
    return {operation.key: operation for operation in all_operations()}


def operation_at(method: str, path: str) -> DeclaredOperation | None:
    """Returns the operation that answers this request; None: none does. HEAD is answered by those of GET.

    Of two operations on one path (a list, and the same events live), returns the first. Both need the same scope.
    """
    if not path.startswith(f"{PREFIX}/"):
        return None
    wanted = "GET" if method == "HEAD" else method
    below = path.removeprefix(PREFIX)
    return next((operation for pattern, operation in _patterns(wanted) if pattern.fullmatch(below)), None)


@cache
def _patterns(method: str) -> tuple[tuple[re.Pattern[str], DeclaredOperation], ...]:
    return tuple(
        (path_pattern(operation.facts.path), operation)
        for operation in all_operations()
        if operation.facts.method == method
    )
