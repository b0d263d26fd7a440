"""analysis, forward, live → [handlers] → workers, serve.  Answers the operations of `playhead.wire.operations`.

A handler has the parameters of its operation. What else it needs comes with its first parameter (`asking`). It knows
neither HTTP nor where it runs: in the process that serves, in a worker process, or in the command over the journal.

    handling   handlers and how they are called       asking   what a handler is given: store, runs, prices, models
    replies    answers that are more than JSON        conditions   conditions for runs, from their parameters
    runs, moments, suspects, scores ...               the handlers, a file per class of operations
"""

from functools import cache
from types import ModuleType

from playhead.wire.operations.across import AcrossOperations
from playhead.wire.operations.calls import CallOperations
from playhead.wire.operations.compare import CompareOperations
from playhead.wire.operations.compression import CompressionOperations
from playhead.wire.operations.content import ContentOperations, ScopeOperations
from playhead.wire.operations.exports import ExportOperations
from playhead.wire.operations.forward import ForwardOperations
from playhead.wire.operations.keys import KeyOperations
from playhead.wire.operations.leases import LeaseOperations
from playhead.wire.operations.moments import DiffOperations, MomentOperations
from playhead.wire.operations.operation import DeclaredOperation
from playhead.wire.operations.promises import PromiseOperations
from playhead.wire.operations.reasoning import ReasoningOperations
from playhead.wire.operations.runs import RunOperations
from playhead.wire.operations.scores import ScoreOperations
from playhead.wire.operations.search import SearchOperations
from playhead.wire.operations.storage import StorageOperations
from playhead.wire.operations.suspects import SuspectOperations
from playhead.wire.operations.tokens import TokenOperations
from playhead.wire.operations.why import WhyOperations
from playhead_collector.handlers.handling import Handler, handlers_in


@cache
def handler_of(operation: DeclaredOperation) -> Handler:
    """Returns the handler of an operation. Imports the module of its subject, and no other."""
    return handlers_in(_module_of(operation.owner))[operation.key]


def _module_of(owner: type | None) -> ModuleType:  # noqa: C901 - a branch per subject
    """Returns the module with the handlers of a class of operations."""
    # Imported here, so that a command that asks one question loads what that one needs.
    if owner is MomentOperations:
        from playhead_collector.handlers import moments as subject  # noqa: PLC0415
    elif owner is CallOperations:
        from playhead_collector.handlers import calls as subject  # noqa: PLC0415
    elif owner is LeaseOperations:
        from playhead_collector.handlers import leases as subject  # noqa: PLC0415
    elif owner is RunOperations:
        from playhead_collector.handlers import runs as subject  # noqa: PLC0415
    elif owner is ScoreOperations:
        from playhead_collector.handlers import scores as subject  # noqa: PLC0415
    elif owner is SuspectOperations:
        from playhead_collector.handlers import suspects as subject  # noqa: PLC0415
    elif owner is ReasoningOperations:
        from playhead_collector.handlers import reasoning as subject  # noqa: PLC0415
    elif owner is AcrossOperations:
        from playhead_collector.handlers import across as subject  # noqa: PLC0415
    elif owner is SearchOperations:
        from playhead_collector.handlers import search as subject  # noqa: PLC0415
    elif owner is DiffOperations:
        from playhead_collector.handlers import diff as subject  # noqa: PLC0415
    elif owner is CompareOperations:
        from playhead_collector.handlers import compare as subject  # noqa: PLC0415
    elif owner is CompressionOperations:
        from playhead_collector.handlers import compression as subject  # noqa: PLC0415
    elif owner is TokenOperations:
        from playhead_collector.handlers import tokens as subject  # noqa: PLC0415
    elif owner is WhyOperations:
        from playhead_collector.handlers import why as subject  # noqa: PLC0415
    elif owner in (ContentOperations, ScopeOperations):
        from playhead_collector.handlers import content as subject  # noqa: PLC0415
    elif owner is ExportOperations:
        from playhead_collector.handlers import exports as subject  # noqa: PLC0415
    elif owner is PromiseOperations:
        from playhead_collector.handlers import promises as subject  # noqa: PLC0415
    elif owner is KeyOperations:
        from playhead_collector.handlers import keys as subject  # noqa: PLC0415
    elif owner is StorageOperations:
        from playhead_collector.handlers import storage as subject  # noqa: PLC0415
    elif owner is ForwardOperations:
        from playhead_collector.handlers import forward as subject  # noqa: PLC0415
    else:
        raise LookupError(f"no module has the handlers of {owner}: name it in `handlers/__init__.py`")
    return subject
