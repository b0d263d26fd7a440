"""[serve]: the query API.  One file for each kind of answer, with its handlers and their paths; `analysis` has those
of the analysis questions.

registering  how an operation is registered           params  what a URL may say
"""

from collections.abc import Mapping

from fastapi import APIRouter, Depends

from playhead_collector.analysis.configuration import Configured
from playhead_collector.read.record import RunProjector
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.serve.analysis_pool import AnalysisHandlers, LimitedAnalysis
from playhead_collector.serve.keyring import Keyring
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.serve.routes import content, deletion, diff, keys, leases, runs, scopes
from playhead_collector.serve.routes.analysis import (
    causes,
    compare,
    compression,
    decisions,
    provenance,
    reasoning,
    tokens,
)
from playhead_collector.serve.routes.params import ONLY_KNOWN
from playhead_collector.serve.routes.registering import refusals
from playhead_collector.store.ports import Store
from playhead_collector.workers.ports import Analysis, InProcessAnalysis
from playhead_collector.workers.questions import AnalysisSettings

PREFIX = "/api/v1"
# The defaults of the settings.
_READS, _READS_WAITING = 4, 64
TAGS = [
    {"name": "runs", "description": "Which runs there are, and what happened in one."},
    {"name": "moments", "description": "What was at a seq or event: state, context, reasoning."},
    {"name": "calls", "description": "Messages, model calls, tool calls and spans of a run."},
    {"name": "why", "description": "Decisions, why tools were called, and what rested on what."},
    {"name": "content", "description": "What refs name."},
    {"name": "senders", "description": "Which of them are not understood."},
    {"name": "keys", "description": "Who may send, ask, and do the rest."},
]


def router(
    store: Store,
    runner: RunProjector,
    project: int = 1,
    configured: Configured | None = None,
    keyring: Keyring | None = None,
    analysis: Analysis | None = None,
    not_understood: Mapping[str, int] | None = None,
    reads: ReadLimiter | None = None,
) -> APIRouter:
    """The query API on this store; the runner is asked to project a run before anything is said about it.

    `analysis` answers what takes computing; without it, that is done in this process. `reads` limits what reads.
    """
    configured, reads = configured or Configured(), reads or ReadLimiter(_READS, _READS_WAITING)
    api = _router()
    if analysis is None:
        analysis = LimitedAnalysis(InProcessAnalysis(store, AnalysisSettings.of(project, configured)), reads)
    asking = AnalysisHandlers(store, runner, project, analysis, reads)
    limited = _router(reads)
    runs.add_routes(limited, store, runner, project, configured.prices)
    leases.add_routes(api, store, project)
    for part in (diff, compare, compression, tokens, decisions, provenance, causes):
        part.add_routes(api, asking)
    reasoning.add_routes(api, asking, configured)
    content.add_routes(limited, store, project)
    # Apart, so that a key can be revoked while whoever has it asks too much.
    operators = _router(ReadLimiter(1, _READS_WAITING))
    keys.add_routes(operators, store, project, keyring or Keyring(store, project, None))
    scopes.add_routes(api, {} if not_understood is None else not_understood)
    api.routes += [*limited.routes, *operators.routes]  # not included: the path of an included route has no prefix
    return api


def deletion_router(
    store: Store, runner: RunProjector, project: int, sweeper: Sweeper, reads: ReadLimiter
) -> APIRouter:
    """What takes something away; `reads` limits it together with questions."""
    api = _router(reads)
    deletion.add_routes(api, store, runner, project, sweeper)
    return api


def _router(reads: ReadLimiter | None = None) -> APIRouter:
    """A router whose operations each take a turn of `reads`. It ends with the handler, before the answer is sent."""
    turn = [Depends(reads.around, scope="function")] if reads else []
    return APIRouter(prefix=PREFIX, responses=refusals(400, 404, 422, 503), dependencies=[*ONLY_KNOWN, *turn])
