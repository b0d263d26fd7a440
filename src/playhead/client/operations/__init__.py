"""[client]: the operations of the query API, one file per kind of answer."""

from playhead.client.operations.across.analytics import AnalyticsOperations
from playhead.client.operations.across.scores import ScoresOperations
from playhead.client.operations.across.search import SearchOperations
from playhead.client.operations.causes import CausesOperations
from playhead.client.operations.compare import CompareOperations
from playhead.client.operations.compression import CompressionOperations
from playhead.client.operations.content import ContentOperations
from playhead.client.operations.decisions import DecisionsOperations
from playhead.client.operations.diff import DiffOperations
from playhead.client.operations.leases import LeasesOperations
from playhead.client.operations.operate.deletion import DeletionOperations
from playhead.client.operations.operate.forward import ForwardOperations
from playhead.client.operations.operate.keys import KeysOperations
from playhead.client.operations.operate.storage import StorageOperations
from playhead.client.operations.promises import PromisesOperations
from playhead.client.operations.provenance import ProvenanceOperations
from playhead.client.operations.reasoning import ReasoningOperations
from playhead.client.operations.runs import RunsOperations
from playhead.client.operations.scopes import ScopesOperations
from playhead.client.operations.suspects import SuspectsOperations
from playhead.client.operations.tokens import TokensOperations


class Operations(
    RunsOperations,
    ContentOperations,
    DiffOperations,
    CompareOperations,
    TokensOperations,
    ReasoningOperations,
    CompressionOperations,
    DecisionsOperations,
    ProvenanceOperations,
    CausesOperations,
    SuspectsOperations,
    LeasesOperations,
    PromisesOperations,
    KeysOperations,
    DeletionOperations,
    ForwardOperations,
    ScopesOperations,
    StorageOperations,
    ScoresOperations,
    AnalyticsOperations,
    SearchOperations,
):
    """All operations: what `Client` and `AsyncClient` have in common."""
