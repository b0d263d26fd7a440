"""What a handler is given: the store, runs by name, prices, what the operator has switched on, and the request."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from playhead_collector.access import ANYBODY, Access
from playhead_collector.errors import Refused
from playhead_collector.read.record import RunProjector, RunRecord, open_record, stored_record

if TYPE_CHECKING:
    from playhead.model.scored_run import GivenScore
    from playhead.wire.operations.operation import Operation, OperationCall
    from playhead_collector.analysis.ask_again import ChatModels
    from playhead_collector.analysis.reasoning.explanation import Explainer
    from playhead_collector.analysis.search.settings import SearchSettings
    from playhead_collector.forward.forwarder import Forwarder
    from playhead_collector.handlers.settings import AnalysisSettings
    from playhead_collector.live.hub import LiveHub
    from playhead_collector.read.prices import Prices
    from playhead_collector.redaction.masking import Masker, MaskingHook
    from playhead_collector.retain.forgetter import Forgetter
    from playhead_collector.retain.retainer import Retainer
    from playhead_collector.retain.sweeper import Sweeper
    from playhead_collector.store.ports import ReadStore
    from playhead_collector.store.ports.changes import ChangeStore
    from playhead_collector.store.ports.projects import Arrived, ProjectRow
    from playhead_collector.store.ports.scorers import ScorerRow
    from playhead_collector.store.postgres.store import PostgresStore

P = ParamSpec("P")
T = TypeVar("T")
Turn = Callable[[], AbstractAsyncContextManager[None]]
"""Waits for a turn and holds it within the block. Raises Refused (503) when too many wait."""


def no_limit() -> AbstractAsyncContextManager[None]:
    """A turn without waiting."""
    return contextlib.nullcontext()


class KeyCache(Protocol):
    """The cache of API keys, which has to learn of changes at once."""

    @property
    def master(self) -> str | None:
        """The operator's key, which is in no database; None: there is none."""
        ...

    @property
    def wall_ns(self) -> Callable[[], int]:
        """The current time, in ns since 1970."""
        ...

    def forget(self) -> None:
        """Reads the keys again at the next request."""
        ...


class ProjectCache(Protocol):
    """The cache of projects, which has to learn of changes at once."""

    async def all(self) -> Mapping[int, ProjectRow]:
        """Returns the projects that are in use, by their numbers. Raises StoreUnavailable."""
        ...

    def forget(self) -> None:
        """Reads the projects again at the next request."""
        ...


class ProjectMeter(Protocol):
    """Counts what projects send."""

    def today(self, project_id: int) -> Arrived:
        """Returns what arrived of a project today."""
        ...

    async def refusal(self, project_id: int) -> Refused | None:
        """Returns why the senders of a project are refused at present; None: they are not. Raises StoreUnavailable."""
        ...


class ScoringService(Protocol):
    """Asks scorers about runs."""

    @property
    def function_names(self) -> Sequence[str]:
        """The functions that scorers may name."""
        ...

    @property
    def model_names(self) -> Sequence[str]:
        """The models that may judge; the first is the default."""
        ...

    def has_price(self, model: str | None) -> bool:
        """Whether it is known what a judge costs. `model` None: the default."""
        ...

    async def try_on(self, scorer: ScorerRow, run: str) -> Sequence[GivenScore]:
        """Returns the scores that a scorer would give a run that is projected. Raises Refused, StoreUnavailable."""
        ...


class MaskerDirectory(Protocol):
    """Gives what masks the data of projects."""

    @property
    def hook(self) -> MaskingHook | None:
        """The operator's function; None: there is none."""
        ...

    async def of(self, project_id: int) -> Masker | None:
        """Returns what masks the data of a project; None: nothing does. Raises StoreUnavailable."""
        ...

    async def masked(self, project_id: int, values: Sequence[T]) -> list[T]:
        """Returns texts or JSON values as they may be stored; a text stays a text. Raises StoreUnavailable."""
        ...


class Computing(Protocol):
    """Computes in a worker process, if there are some. What is computed is given up when its client has gone."""

    async def answer_of(self, call: OperationCall[T]) -> T:
        """Returns the answer of an operation with `in_worker`. Raises what its handler raises."""
        ...

    async def answer(self, question: str, runs: Sequence[str], options: Mapping[str, Any]) -> Any:
        """Returns the answer to an internal question of `workers.questions` about projected runs, as parsed JSON."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the process that serves has, beside the store; the journal's answers have none of it.

    `explainer`, `chat_models`, `search`: what the operator has switched on. `clock`: ns since 1970. `hub` and
    `changes`: live streams. `not_understood`: spans and log events that no dialect could read, by project and scope.
    `reading` limits reads of the database at a time, `packing` packs and bundles that are made, `looking_up` contents
    that are read, `asking_models` calls that are asked again. `projects`, `meter` and `maskers`: tenants,
    what they sent, and what masks their data. `scoring`: asks scorers about runs.
    """

    explainer: Explainer | None = None
    chat_models: ChatModels | None = None
    search: SearchSettings | None = None
    clock: Callable[[], int] = time.time_ns
    hub: LiveHub | None = None
    changes: ChangeStore | None = None
    projects: ProjectCache | None = None
    meter: ProjectMeter | None = None
    scoring: ScoringService | None = None
    maskers: MaskerDirectory | None = None
    reading: Turn = no_limit
    sweeper: Sweeper | None = None
    forgetter: Forgetter | None = None
    retainer: Retainer | None = None
    forwarder: Forwarder | None = None
    keys: KeyCache | None = None
    not_understood: Mapping[int, Mapping[str, int]] = field(default_factory=dict[int, Mapping[str, int]])
    packing: Turn = no_limit
    looking_up: Turn = no_limit
    asking_models: Turn = no_limit


NO_SERVICES = Services()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """What a request says beside its parameters. `cursor`: of a list's next page. `access`: what its sender may do, and
    for which project. `accept`: media types that the client takes. `last_event_id`: where a stream goes on."""

    cursor: str | None = None
    access: Access = ANYBODY
    accept: str = ""
    last_event_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One call of a handler. `projector` None: runs were projected before, and are named by their ids. `turn` limits
    concurrent reads of the database: `record` and `catch_up` wait for one."""

    store: ReadStore
    settings: AnalysisSettings
    projector: RunProjector | None
    services: Services = NO_SERVICES
    request: RequestFacts = field(default_factory=RequestFacts)
    turn: Turn = no_limit
    computing: Computing | None = None

    @property
    def project_id(self) -> int:
        """The id of the project."""
        return self.request.access.project_id

    @property
    def prices(self) -> Prices:
        """Prices of models."""
        return self.settings.prices

    @property
    def cursor(self) -> str | None:
        """The cursor of the page that is asked for; None: the first."""
        return self.request.cursor

    @property
    def explainer(self) -> Explainer:
        """The model that explains, for operations with `needs="explainer"`."""
        return _needed(self.services.explainer)

    @property
    def chat_models(self) -> ChatModels:
        """The models that are asked again, for operations with `needs="chat_models"`."""
        return _needed(self.services.chat_models)

    @property
    def search(self) -> SearchSettings:
        """The settings of the search index, for operations with `needs="search"`."""
        return _needed(self.services.search)

    def page(self, limit: int | None, default: int = 50) -> int:
        """Returns the size of the page. `default`: of a list whose declaration has no `page_size`."""
        return default if limit is None else limit

    async def record(self, run: str) -> RunRecord:
        """Returns the run, after everything that arrived for it was projected. Raises Refused (404)."""
        if self.projector is None:
            return await stored_record(self.store, self.project_id, run)
        async with self.turn():
            return await open_record(self.store, self.projector, self.project_id, run)

    async def catch_up(self) -> None:
        """Projects runs of the project with recent news, for operations that look at other runs than those that they
        name."""
        if self.projector is not None:
            async with self.turn():
                await self.projector.catch_up(self.project_id)

    async def answer_of(self, operation: Operation[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns the answer of another operation with `in_worker`. Raises what its handler raises, and Refused over
        the journal."""
        if self.computing is None:
            raise needs_collector()
        return await self.computing.answer_of(operation.call(*args, **kwargs))

    async def compute(self, question: str, runs: Sequence[str], options: Mapping[str, Any]) -> Any:
        """Returns the answer to an internal question of `workers.questions` about projected runs, as parsed JSON.
        Raises Refused."""
        if self.computing is None:
            raise needs_collector()
        return await self.computing.answer(question, runs, options)

    async def masked(self, values: Sequence[T]) -> list[T]:
        """Returns texts or JSON values as the rules of the project let them be stored; a text stays a text."""
        maskers = self.services.maskers
        return [*values] if maskers is None else await maskers.masked(self.project_id, values)


def _needed(service: T | None) -> T:
    if service is None:
        raise LookupError("the declaration of this operation does not say what it needs: add needs=")
    return service


@dataclass(frozen=True, slots=True, kw_only=True)
class Changing(Asking):
    """One call of a handler that changes something: it has the whole store."""

    store: PostgresStore


def needs_collector() -> Refused:
    """The error for what only a collector can do."""
    return Refused(
        400,
        "needs_collector",
        "the journal of this machine cannot answer that, because it needs the collector's database: start one with "
        "`playhead serve`, send it the journal with `playhead ship`, and ask again, without --local if you gave it",
    )
