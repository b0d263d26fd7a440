"""Programs of tests wait for a collector for as long as it takes.

A user's program counts a collector as down that does not answer within seconds, and goes on without it. A busy machine
stands still for as long now and then: what comes of that is right, and is not what a test looks at.
"""

from playhead import recording
from playhead.conversations import keeping

SECONDS = 120.0


def wait_for_collector() -> None:
    """For programs that a test starts, before they ask for the first time."""
    recording.LEASE_TIMEOUT_SECONDS = keeping.REQUEST_SECONDS = SECONDS
