"""Settings of the operator on which answers depend."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from playhead_collector.analysis.ask_again.asking import ChatModels
from playhead_collector.analysis.reasoning.explanation import Explainer
from playhead_collector.analysis.reasoning.reasoning import TAG
from playhead_collector.analysis.search.indexing import SearchSettings
from playhead_collector.analysis.texts.limits import MAX_TEXT_LENGTH
from playhead_collector.read.prices import Prices, shipped


@dataclass(frozen=True, slots=True)
class Configured:
    """Prices, the tag in which models write down reasoning, the model that explains, the models for
    asking calls again and how many of these questions run at a time, and how many characters of a text an analysis
    reads; `search` (None: it is off); `clock` gives ns since 1970."""

    prices: Prices = field(default_factory=shipped)
    reasoning_tag: str = TAG
    explainer: Explainer | None = None
    asked: ChatModels | None = None
    longest_text: int = MAX_TEXT_LENGTH
    max_asked: int = 4
    clock: Callable[[], int] = time.time_ns
    search: SearchSettings | None = field(default_factory=SearchSettings)
