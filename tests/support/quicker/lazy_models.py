"""FastAPI's models of parameters and answers, made when they are first used.

Making the collector's application makes some four hundred of them, of which a test that asks three questions needs ten.
Nearly two hundred tests make an application of their own.  A model that cannot be made fails in the tests of the
OpenAPI document, which need all of them, and in each real collector.
"""

import sys
import warnings
from functools import cached_property, partial
from typing import Any


def make_models_lazily() -> None:
    """From now on, in this process; nothing where no test has imported FastAPI."""
    if (module := sys.modules.get("fastapi._compat.v2")) is None:
        return
    eager = module.TypeAdapter

    class LazyAdapter:
        """Stands for a `pydantic.TypeAdapter` until something is asked of it."""

        def __init__(self, *args: Any, **options: Any) -> None:
            self._make = partial(eager, *args, **options)

        @cached_property
        def _made(self) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # FastAPI ignores here what pydantic says of unused metadata
                return self._make()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._made, name)

    vars(module)["TypeAdapter"] = LazyAdapter
