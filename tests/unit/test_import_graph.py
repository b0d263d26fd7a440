"""Rings of imports in a made-up package, whichever way a module is imported."""

from pathlib import Path

import pytest

from tests.support.import_graph import imports_of, rings

RING = {frozenset({"shop.cart", "shop.order"})}


def made_up(folder: Path, **modules: str) -> Path:
    """A package `shop` with these modules; `order` imports `cart`."""
    package = folder / "shop"
    package.mkdir()
    for name, source in {"__init__": "", "order": "from shop.cart import Cart\n", **modules}.items():
        package.joinpath(f"{name}.py").write_text(source, encoding="utf-8")
    return package


@pytest.mark.parametrize(
    "cart",
    [
        "import shop.order\n",
        "from shop import order\n",
        "from shop.order import Order\n",
        "from . import order\n",
        "from .order import Order\n",
        "def late():\n    from shop.order import Order\n",
        "class Cart:\n    def late(self):\n        import shop.order\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop.order import Order\n",
        "from importlib import import_module\norder = import_module('shop.order')\n",
        "import importlib\n_MODULES = {'Order': 'shop.order'}\ndef late(name):\n"
        "    return importlib.import_module(_MODULES[name])\n",
        "from importlib import import_module\n_MODULES = ('order',)\ndef late(name):\n"
        "    return import_module(f'shop.{name}')\n",
        "from importlib import import_module\ndef late(name):\n    return import_module(f'shop.{name}')\n",
        "order = __import__('shop.order')\n",
    ],
)
def test_a_ring_is_found(tmp_path: Path, cart: str):
    assert rings(imports_of([made_up(tmp_path, cart=cart)])) == RING


def test_a_ring_over_a_table_of_names_in_the_package_itself_is_found(tmp_path: Path):
    table = "from importlib import import_module\nNAMES = ('order', 'cart')\ndef made():\n"
    table += "    return [import_module(f'{__name__}.{name}') for name in NAMES]\n"
    package = made_up(tmp_path, __init__=table, cart="from shop import Table\n")
    assert rings(imports_of([package])) == {frozenset({"shop", "shop.cart", "shop.order"})}


@pytest.mark.parametrize(
    "cart",
    [
        "",
        "from typing import Any\n",
        "NAME = 'shop.order'\n",  # no import: the name of a logger
        "from importlib import import_module\nimport_module('decimal')\n",
    ],
)
def test_where_there_is_no_ring_none_is_found(tmp_path: Path, cart: str):
    assert rings(imports_of([made_up(tmp_path, cart=cart)])) == set()


def test_rings_that_share_a_module_are_one():
    assert rings({"a": ["b"], "b": ["c", "a"], "c": ["b"], "d": ["a"], "e": []}) == {frozenset("abc")}
