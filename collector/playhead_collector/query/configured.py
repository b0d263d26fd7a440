"""What an operator configures that answers depend on."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from playhead_collector.query.explain import Explainer
from playhead_collector.query.prices import Prices, shipped
from playhead_collector.query.reading import LONGEST_TEXT
from playhead_collector.query.reasoning import TAG


@dataclass(frozen=True, slots=True)
class Configured:
    """Prices, the tag in which models write down reasoning, the model that explains, and how many characters of a text
    an analysis reads; `clock` gives ns since 1970."""

    prices: Prices = field(default_factory=shipped)
    reasoning_tag: str = TAG
    explainer: Explainer | None = None
    longest_text: int = LONGEST_TEXT
    clock: Callable[[], int] = time.time_ns
