"""receive → [store] → forward: which spans and log events of a run a destination gets."""

from dataclasses import dataclass

from playhead.model import names
from playhead.model.span import LogEvent
from playhead.projection.log_events import describes_call
from playhead_collector.access import FIRST_PROJECT

# The last 56 bits of a trace id are random (W3C Trace Context, level 2), and so are those of a UUID of version 7.
_RANDOM_DIGITS = 14
_IDS = 16**_RANDOM_DIGITS


@dataclass(frozen=True, slots=True)
class Recipient:
    """The settings of a destination that ingest needs. `sample`: the share of runs that the destination gets, 0 to
    1."""

    name: str
    sample: float = 1.0
    logs: bool = False
    """Whether the destination takes log events besides spans."""
    calls_in_logs: bool = False
    """Whether the destination takes log events that describe calls (as spans or parts of spans) and evaluations (as
    scores)."""
    all_projects: bool = False
    """Whether the destination gets the runs of all projects; else those of the first one."""

    def serves(self, project_id: int) -> bool:
        """Returns whether the destination gets runs of this project."""
        return self.all_projects or project_id == FIRST_PROJECT

    def takes_log(self, log: LogEvent) -> bool:
        """Returns whether the destination takes this log event. Evaluations that are recorded on spans are sent as log
        events only to destinations that take scores."""
        if names.EVALUATION_ON_SPAN in log.attributes:
            return self.calls_in_logs
        return self.logs or (self.calls_in_logs and (log.name == names.EVALUATION or describes_call(log)))

    def takes(self, run: str) -> bool:
        """Returns whether the run is in the sample.  `run`: 32 hex digits.  The result depends on the run id only, so
        it is the same in every collector and at any time, like OpenTelemetry's sampling by trace id."""
        return self.sample >= 1 or int(run[-_RANDOM_DIGITS:], 16) < self.sample * _IDS
