"""[store] → read, analysis: conditions for runs."""

from dataclasses import dataclass

from playhead_collector.store.ports.scores import ScoreCondition


@dataclass(frozen=True, slots=True)
class RunFilter:
    """All conditions must hold; None means any.  `text` is looked for in name, session, user, agents and tags,
    `id_part` (lower-case hex digits) in the run's id."""

    agent: str | None = None
    status: str | None = None
    session: str | None = None
    user: str | None = None
    tag: str | None = None
    model: str | None = None
    tool: str | None = None
    fork_of: str | None = None
    text: str | None = None
    id_part: str | None = None
    score: ScoreCondition | None = None
    since_ns: int | None = None
    until_ns: int | None = None
