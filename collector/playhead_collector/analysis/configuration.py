"""Settings of the operator that the analyses read."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from playhead_collector.analysis.ask_again import ChatModels
from playhead_collector.analysis.reasoning import TAG
from playhead_collector.analysis.reasoning.explanation import Explainer
from playhead_collector.analysis.search.settings import SearchSettings
from playhead_collector.analysis.texts.limits import MAX_TEXT_LENGTH
from playhead_collector.read.prices import Prices, shipped


@dataclass(frozen=True, slots=True)
class Configured:
    """Settings of the analyses.

    `prices`: prices of models. `reasoning_tag`: the tag in which models write their reasoning. `explainer`: the model
    that explains runs; None: not configured. `chat_models`: the models for asking recorded calls again; None: not
    configured. `max_asked`: calls that are asked again at a time. `longest_text`: characters that an analysis reads of
    one text. `search`: settings of the search index; None: search is off. `clock`: returns ns since 1970.
    """

    prices: Prices = field(default_factory=shipped)
    reasoning_tag: str = TAG
    explainer: Explainer | None = None
    chat_models: ChatModels | None = None
    longest_text: int = MAX_TEXT_LENGTH
    max_asked: int = 4
    clock: Callable[[], int] = time.time_ns
    search: SearchSettings | None = field(default_factory=SearchSettings)
