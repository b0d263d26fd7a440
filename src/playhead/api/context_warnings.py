"""Warns during a run that a model's context is nearly full: by an event, a log line and a counter.

The context windows of common models are known (`playhead.model.models`); `PLAYHEAD_CONTEXT_WINDOWS` sets those of
others. Each agent gets one warning, and another one if its context was smaller in between.
"""

import logging
from collections.abc import Mapping
from typing import Any

from playhead.api.log_events import log_event_of
from playhead.calls.span import ObservedSpan
from playhead.kernel.guard import guarded
from playhead.model import names

log = logging.getLogger("playhead")

# Agents whose warning is remembered; a program with more gets some warnings repeatedly.
_MOST_AGENTS = 1_000
_MOST_MODELS = 1_000  # whose windows are remembered


class ContextWarnings:
    """Checks each ended model call. `share`: the share of the window (0 to 1) from which to warn; 0: never."""

    def __init__(self, share: float, windows: Mapping[str, int]) -> None:
        self.count = 0
        """Number of warnings so far."""
        self._share = share
        self._windows = windows
        self._warned: set[tuple[str, str]] = set()
        self._found: dict[str, int | None] = {}
        """Cache of windows by model: the lookup takes as long as the rest of a check."""

    def model_call_ended(self, span: ObservedSpan) -> None:
        """Warns if the call's context is nearly full. Never raises."""
        with guarded("look at the size of a context"):
            self._look(span, span.attributes)

    def _look(self, span: ObservedSpan, attributes: Mapping[str, Any]) -> None:
        model, tokens = attributes.get(names.REQUEST_MODEL), attributes.get(names.INPUT_TOKENS)
        if not (self._share and isinstance(model, str) and isinstance(tokens, int)):
            return
        window = self._found[model] if model in self._found else self._find(model)
        if window is None:
            return
        agent = (span.run.id, span.path.rpartition("/")[0])
        if tokens < self._share * window:
            self._warned.discard(agent)
            return
        if agent in self._warned:
            return
        if len(self._warned) >= _MOST_AGENTS:
            self._warned.clear()
        self._warned.add(agent)
        self.count += 1
        event_attributes = {names.CONTEXT_TOKENS: tokens, names.CONTEXT_WINDOW: window, names.REQUEST_MODEL: model}
        log_event_of(span, names.CONTEXT_WARNING, event_attributes, {})
        log.warning(
            "the context of run %s has %d of the %d tokens that fit into %s: compress it, or begin a new run",
            span.run.id, tokens, window, model,
        )  # fmt: skip

    def _find(self, model: str) -> int | None:
        if len(self._found) >= _MOST_MODELS:
            self._found.clear()
        self._found[model] = window = self.window_of(model)
        return window

    def window_of(self, model: str) -> int | None:
        """Returns the model's context window in tokens; None: unknown. Ignores a provider's prefix (`openai/`)."""
        # 2 ms, which only a program that calls models needs.
        from playhead.model.models import BY_NAME, context_limit  # noqa: PLC0415

        return context_limit(model, BY_NAME, self._windows)
