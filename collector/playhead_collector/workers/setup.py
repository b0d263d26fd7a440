"""The settings of a worker process, sent on its stdin: other users can read arguments and environments."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from playhead_collector.read.prices import Price, Prices
from playhead_collector.store.postgres.connection import DatabaseTimeouts
from playhead_collector.workers.questions import AnalysisSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Settings of a worker process. `dsn` may contain a password; `seconds` and `memory_bytes` limit one question."""

    dsn: str = field(repr=False)
    timeouts: DatabaseTimeouts
    given: AnalysisSettings
    seconds: float
    memory_bytes: int
    answer_bytes: int
    log_format: str = "text"
    log_level: str = "info"

    def to_json(self) -> dict[str, Any]:
        """Returns the settings as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Setup":
        """Returns the settings in a JSON object of `to_json`."""
        analysis: dict[str, Any] = dict(fields["given"])
        prices: dict[str, Any] = dict(analysis["prices"])
        prices["models"] = {name: Price(**line) for name, line in prices["models"].items()}
        analysis["prices"] = Prices(**prices)
        values: dict[str, Any] = {
            **fields,
            "given": AnalysisSettings(**analysis),
            "timeouts": DatabaseTimeouts(**fields["timeouts"]),
        }
        return cls(**values)
