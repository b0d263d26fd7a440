"""Settings of the operator that answers depend on, in whatever process they are computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playhead_collector.analysis.reasoning import TAG
from playhead_collector.analysis.texts.limits import MAX_TEXT_LENGTH
from playhead_collector.read.prices import Prices, shipped

if TYPE_CHECKING:
    from playhead_collector.analysis.configuration import Configured


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """Settings that analysis answers depend on, in whatever process they are computed. `explainer_model`: the name of
    the model that explains runs; None: none is configured."""

    prices: Prices = field(default_factory=shipped)
    reasoning_tag: str = TAG
    longest_text: int = MAX_TEXT_LENGTH
    explainer_model: str | None = None

    @classmethod
    def of(cls, configured: Configured) -> AnalysisSettings:
        """Returns the settings as the operator configured them."""
        model = None if configured.explainer is None else configured.explainer.model
        return cls(configured.prices, configured.reasoning_tag, configured.longest_text, model)
