"""What a compression is about to do, what it did, and how full a context is. Values only."""

from dataclasses import dataclass
from typing import Literal

Trigger = Literal["threshold", "manual", "limit_error"]
Basis = Literal["reported", "calibrated", "estimated", "counted"]


@dataclass(frozen=True, slots=True)
class CompressionStart:
    """What `before` is called with. `tokens`: of the context now; `target`: what it should have afterwards; None: the
    policy does not say it in tokens."""

    tokens: int
    target: int | None
    trigger: Trigger
    messages: int


@dataclass(frozen=True, slots=True)
class CompressionReport:
    """What a compression did. Numbers of tokens are estimates, made with the usage that the provider reported before.

    `strategy`: its name in the record. `fallback`: why the fallback was used; None: it was not. `reason`: why the
    context is not as small as it should be, or why nothing was done; None: it is. `ratio`: tokens after, by tokens
    before. `summary`: its text; None: nothing was summarised.
    """

    trigger: Trigger
    strategy: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    kept: int = 0
    summarised: int = 0
    masked: int = 0
    dropped: int = 0
    preserved: int = 0
    note: str | None = None
    fallback: str | None = None
    reason: str | None = None
    summary: str | None = None

    @property
    def ratio(self) -> float:
        """Tokens after, by tokens before; 1 for an empty context."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0

    @property
    def changed(self) -> bool:
        """Whether the context is another one."""
        return bool(self.summarised or self.masked or self.dropped)


@dataclass(frozen=True, slots=True)
class ContextStats:
    """How full a context is.

    `limit`: None if neither the policy nor the table of models says it; `ratio` then too. `compressions`: how many
    there were; `checkpoints`: how many of them wrote a summary. `basis` of `tokens`: `reported` by the provider for
    these very messages, `calibrated` (estimated, with what it reported), `estimated`, or `counted` by the policy's
    function.
    """

    tokens: int
    limit: int | None
    ratio: float | None
    messages: int
    compressions: int
    checkpoints: int
    basis: Basis
