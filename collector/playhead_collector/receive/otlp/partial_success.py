"""The `error_message` of `partial_success`: problems of an OTLP request that was accepted."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from itertools import islice

from playhead.model.ref import ContentRef
from playhead_collector.receive.ports import IngestResult, TakenOut

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
    _contents: TakenOut = field(default_factory=TakenOut)
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
                f"taken without understanding its content, which is kept as it came: {_named(self._scopes)}"
            )
        return "; ".join(sentences)


def _named(scopes: Collection[str]) -> str:
    more = f" and {len(scopes) - _NAMED_SCOPES} more" if len(scopes) > _NAMED_SCOPES else ""
    return f"scope {', '.join(islice(scopes, _NAMED_SCOPES))}{more}"
