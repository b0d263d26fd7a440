"""What has to be switched on for some operations, and the errors when it is not."""

from collections.abc import Callable, Mapping
from typing import Final

from playhead.wire.operations.operation import Need
from playhead_collector.analysis.ask_again import no_model_to_ask
from playhead_collector.analysis.reasoning.explanation import no_model
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Services


def search_is_off() -> Refused:
    """The error for a search while there is no index."""
    return Refused(409, "search_off", "search is off: set PLAYHEAD_SEARCH=on, and start the collector again")


_ERRORS: Final[Mapping[Need, Callable[[], Refused]]] = {
    "explainer": no_model,
    "chat_models": no_model_to_ask,
    "search": search_is_off,
}


def refuse_if_off(need: Need, services: Services) -> None:
    """Raises Refused (409) if `services` lacks what an operation needs."""
    if getattr(services, need) is None:
        raise _ERRORS[need]()
