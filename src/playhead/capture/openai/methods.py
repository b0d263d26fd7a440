"""Which methods of a client record which API: of `openai`, and of the clients that Stainless generates for providers
with APIs like OpenAI's (`groq`, `together`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from playhead.capture.client_methods import ClientApi, recording_method, recording_method_async
from playhead.capture.patching import Wrap


@dataclass(frozen=True, slots=True)
class Methods:
    """Where the methods of one API are: modules, and the class of the plain and of the asynchronous client."""

    api: ClientApi
    modules: tuple[str, ...]
    classes: tuple[str, str]
    methods: tuple[str, ...] = ("create",)


def wraps(apis: Iterable[Methods]) -> Iterator[Wrap]:
    """Yields the methods with their wrappers; not every version of a library has all of them."""
    for methods in apis:
        plain, asynchronous = methods.classes
        wrappers = {plain: recording_method(methods.api), asynchronous: recording_method_async(methods.api)}
        for module, owner, method in product(methods.modules, methods.classes, methods.methods):
            yield Wrap(module, f"{owner}.{method}", wrappers[owner], is_optional=True)
