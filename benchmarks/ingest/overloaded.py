"""I3: a collector that is offered three times what it can take, for ten minutes. `make soak` checks the same."""

from tests.support.overload import measure

__all__ = ["measure"]
