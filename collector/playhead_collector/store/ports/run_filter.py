"""[store] → read, analysis: conditions for runs."""

from dataclasses import dataclass

from playhead_collector.store.ports.scores import ScoreCondition


@dataclass(frozen=True, slots=True)
class RunFilter:
    """All conditions must hold; None means any.

    `text` is searched in name, session, user, agents and tags; `id_part` (lower-case hex digits) in the run's id.
    `trace`: the run has spans of this trace. `linked`: the run names this run by a link without being part of it.
    """

    agent: str | None = None
    status: str | None = None
    session: str | None = None
    user: str | None = None
    tag: str | None = None
    model: str | None = None
    tool: str | None = None
    fork_of: str | None = None
    trace: str | None = None
    linked: str | None = None
    text: str | None = None
    id_part: str | None = None
    score: ScoreCondition | None = None
    since_ns: int | None = None
    until_ns: int | None = None
