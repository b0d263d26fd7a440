"""The benchmarks are run by hand; that each can be found and imported is held here."""

from importlib import import_module

import pytest

from benchmarks.__main__ import FAMILIES, ON_REQUEST


@pytest.mark.parametrize("family", [*FAMILIES, *ON_REQUEST])
def test_every_bar_has_something_that_measures_it(family: str):
    module, _, name = family.partition(":")
    assert callable(getattr(import_module(f"benchmarks.{module}"), name))
