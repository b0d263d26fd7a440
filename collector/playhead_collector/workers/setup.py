"""The settings of a worker process, sent on its stdin: other users can read arguments and environments."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from playhead_collector.read.prices import Price, Prices
from playhead_collector.store.postgres.connection import DatabaseTimeouts
from playhead_collector.workers.questions import AnalysisSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Settings of a worker process. `dsn` may hold a password; `seconds` and `memory_bytes` are for one question."""

    dsn: str = field(repr=False)
    timeouts: DatabaseTimeouts
    given: AnalysisSettings
    seconds: float
    memory_bytes: int
    answer_bytes: int
    log_format: str = "text"
    log_level: str = "info"

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "Setup":
        """Back from a JSON object."""
        given: dict[str, Any] = dict(said["given"])
        prices: dict[str, Any] = dict(given["prices"])
        prices["models"] = {name: Price(**line) for name, line in prices["models"].items()}
        given["prices"] = Prices(**prices)
        values: dict[str, Any] = {
            **said,
            "given": AnalysisSettings(**given),
            "timeouts": DatabaseTimeouts(**said["timeouts"]),
        }
        return cls(**values)
