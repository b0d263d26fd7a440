"""The window of a model: as the settings say it, else the table of models."""

from functools import lru_cache

from playhead.calls import runtime
from playhead.model.models import BY_NAME, context_limit


def window_of(model: str) -> int | None:
    """Returns how many tokens the context of a model may have; None: unknown."""
    return _found(model, tuple(runtime.current.context_windows.items()))


@lru_cache(maxsize=1_000)  # asked several times per turn, and the table is long
def _found(model: str, configured: tuple[tuple[str, int], ...]) -> int | None:
    return context_limit(model, BY_NAME, dict(configured))
