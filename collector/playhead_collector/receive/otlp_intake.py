"""Decodes and stores the body of an OTLP request, for HTTP and gRPC alike.  [receive] → lift → store.

Problems of a request that was accepted become the `error_message` of OTLP's `partial_success`.
"""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice

from playhead.model import names
from playhead.model.ref import ContentRef
from playhead_collector.project_turns import ProjectTurn
from playhead_collector.receive.otlp import decode
from playhead_collector.receive.otlp.decode import Signal, Wire
from playhead_collector.receive.otlp.decoded import Decoded, DecodeLimits
from playhead_collector.receive.ports import Counts, ExtractedCounts, IngestOf, IngestResult
from playhead_collector.receive.request_limiter import AdmittedRequest, RequestLimiter, off_loop
from playhead_collector.settings import KIB

# Scopes of one request that are remembered, and that are named in the answer: most senders have only a few.
_MAX_SCOPES, _NAMED_SCOPES = 50, 10


@dataclass(slots=True)
class PartialSuccessMessage:
    """Collects problems, and counts of new data, while a request is stored in portions. `str()` gives the problems
    only."""

    rejected: int = 0
    _reason: str = ""
    _dropped: int = 0
    _pending: list[ContentRef] = field(default_factory=list[ContentRef])
    _scopes: dict[str, None] = field(default_factory=dict[str, None])
    _duplicates: int = 0
    _contents: ExtractedCounts = field(default_factory=ExtractedCounts)
    _takeovers: dict[str, int] = field(default_factory=dict[str, int])

    def left_out(self, count: int, reason: str) -> None:
        """Adds `count` items that could not be stored."""
        self.rejected += count
        self._reason = self._reason or reason

    def taken(self, result: IngestResult) -> None:
        """Adds the result of a stored portion."""
        if result.superseded:
            run, attempt = next(iter(result.takeovers.items()))
            self.left_out(
                result.superseded,
                f"run {run} was taken over by its attempt {attempt}; what an earlier one does after that is not added",
            )
            self._takeovers |= result.takeovers
        self._dropped += result.dropped
        self._duplicates += result.duplicates
        self._contents.add(result.contents)
        self._pending += result.pending
        self._scopes |= dict.fromkeys(list(result.not_understood)[: _MAX_SCOPES - len(self._scopes)])

    @property
    def stored(self) -> str:
        """Counts of duplicates and of contents in the request, as `name=count, ...`."""
        counts = {"duplicates": self._duplicates, **asdict(self._contents)}
        return ", ".join(f"{name}={count}" for name, count in counts.items())

    @property
    def takeovers(self) -> str:
        """Runs of which a part was left out because later attempts had taken them over, as `run=attempt, ...`."""
        return ", ".join(f"{run}={attempt}" for run, attempt in self._takeovers.items())

    def __str__(self) -> str:
        sentences: list[str] = []
        if self.rejected:
            sentences.append(f"{self.rejected} left out: {self._reason}")
        if self._dropped:
            sentences.append(f"{self._dropped} spans and log events are of runs that were deleted, and were not kept")
        if self._pending:
            sentences.append(
                f"content pending: {len(self._pending)} refs, such as {self._pending[0]}, are not stored yet"
            )
        if self._scopes:
            sentences.append(
                f"taken without understanding its content, which is kept as it came: {_scopes_text(self._scopes)}"
            )
        return "; ".join(sentences)


def _scopes_text(scopes: Collection[str]) -> str:
    more = f" and {len(scopes) - _NAMED_SCOPES} more" if len(scopes) > _NAMED_SCOPES else ""
    return f"scope {', '.join(islice(scopes, _NAMED_SCOPES))}{more}"


# A span takes 10 kB of memory until it is stored. A ninth of the used memory is counted (see `app.py`).
_SPAN_CHARGE = 1_000
# Bytes of memory of a portion while several projects are active: some ten milliseconds of work, for which others wait.
_SHARED_COST = 64 * KIB


@dataclass(frozen=True, slots=True)
class OtlpIntake:
    """Stores OTLP requests. `max_bytes` limits a body, as sent and decompressed; `flow` limits requests in progress."""

    ingest: IngestOf
    counts: Counts
    flow: RequestLimiter
    max_bytes: int
    limits: DecodeLimits

    async def store(
        self, signal: Signal, wire: Wire, share: AdmittedRequest, project_id: int, phoenix_project: str | None = None
    ) -> PartialSuccessMessage:
        """Stores the content of an admitted request for a project. All of it is durable when this returns.
        `phoenix_project` is written on spans whose resource names no project of Phoenix.

        Raises Refused, StoreUnavailable; then a part may be stored, and storing it again changes nothing.
        """
        async with self.flow.turns.of(project_id) as turn:
            return await self._store_all(signal, wire, share, project_id, phoenix_project, turn)

    async def _store_all(
        self,
        signal: Signal,
        wire: Wire,
        share: AdmittedRequest,
        project_id: int,
        phoenix_project: str | None,
        turn: ProjectTurn,
    ) -> PartialSuccessMessage:
        result, items = PartialSuccessMessage(), 0
        portions, size = await self._portions(signal, wire, share)
        # Each portion is durable before the next is read, and storing one twice changes nothing. So if a later portion
        # fails and the sender retries, nothing is lost or stored twice.
        portion = await off_loop(size, partial(next, portions, None))
        while portion is not None:
            share.hold(max(share.bytes, size + _SPAN_CHARGE * (len(portion.spans) + len(portion.logs))))
            if phoenix_project:
                for span in portion.spans:
                    span.resource.setdefault(names.PROJECT_NAME, phoenix_project)
            items += len(portion.spans) + len(portion.logs)
            result.left_out(portion.rejected, portion.reason)
            result.taken(await self._store(signal, portion, project_id))
            portion = await off_loop(size, partial(next, portions, None))
            if portion is not None:
                await turn.step()
        self.counts.arrived(project_id, items, size)
        return result

    async def _portions(self, signal: Signal, wire: Wire, share: AdmittedRequest) -> tuple[Iterator[Decoded], int]:
        # Separate from `store`, so that the body is freed while its last spans wait for the database.
        body, sent_bytes = await share.body()
        size = len(body)
        self.counts.body(sent_bytes, size)
        return await off_loop(size, partial(self._open, signal, body, wire, share)), size

    def _open(self, signal: Signal, body: bytes, wire: Wire, share: AdmittedRequest) -> Iterator[Decoded]:
        share.hold(decode.budget_bytes(body, wire, self.limits))
        limits = replace(self.limits, portion_cost=_SHARED_COST) if self.flow.turns.are_shared else self.limits
        return decode.portions(signal, body, wire, limits)

    async def _store(self, signal: Signal, portion: Decoded, project_id: int) -> IngestResult:
        result = IngestResult(0)
        if portion.spans or portion.logs:
            result = await self.ingest(project_id).ingest(portion.spans, portion.logs)
        self.counts.taken(result.spans, result.duplicates, len(portion.logs))
        self.counts.rejected(signal, portion.rejected + result.superseded)
        self.counts.ignored(signal, portion.ignored)
        if result.dropped:
            self.counts.dropped(result.dropped)
        for scope, count in result.not_understood.items():
            self.counts.not_understood(project_id, scope, count)
        return result
