"""The window of a model: as the settings say it, else the table of models."""

from playhead.calls import runtime
from playhead.model.models import BY_NAME, context_limit


def window_of(model: str) -> int | None:
    """Returns how many tokens the context of a model may have; None: unknown."""
    return context_limit(model, BY_NAME, runtime.current.context_windows)
