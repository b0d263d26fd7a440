"""Secrets in objects are masked by the keys they stand under; machinery is its type; plain values stay as they are."""

import asyncio
import collections
import contextvars
import dataclasses
import http.client
import io
import logging
import os
import queue
import socket
import sqlite3
import threading
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import attrs
import httpx
import pydantic
import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers

from playhead.model.canonical import canonical_json, parse_json
from playhead.model.objects.infrastructure import is_machinery
from playhead.model.objects.masking import DEFAULT_KEYS, KeyedValue, Mask
from tests.support.processor_time import assert_takes_at_most

MASK = Mask()
HIDDEN = {"$masked": "str"}


def shown(value: Any, mask: Mask | None = MASK) -> Any:
    return parse_json(canonical_json(value, mask))


@pytest.mark.parametrize(
    "key",
    [
        *DEFAULT_KEYS,
        "Authorization",
        "Proxy-Authorization",
        "Set-Cookie",
        "X-API-Key",
        "x_api_key",
        "apiKey",
        "OPENAI_API_KEY",
        "accessToken",
        "refresh_token",
        "id-token",
        "client_secret",
        "AWS_SECRET_ACCESS_KEY",
        "dbPassword",
        "HTTP_AUTHORIZATION",
        b"authorization",
        "_api_key",
        "ssh private key",
    ],
)
def test_what_credentials_are_called_is_masked(key: Any):
    assert MASK.hides(key, "x")
    assert MASK.hides(key, ["x"])
    assert not any(MASK.hides(key, nothing) for nothing in (None, "", b"", [], {}, (), True, False))


@pytest.mark.parametrize(
    "key",
    ["max_tokens", "prompt_tokens", "tokens", "tokenizer", "secretary", "author", "key", "monkey", "public_key", "", 5],
)
def test_what_only_sounds_like_it_is_not(key: Any):
    assert not MASK.hides(key, "x")


def test_counts_of_tokens_are_shown_and_numbers_under_other_keys_are_not():
    assert not MASK.hides("completion_token", 5)
    assert MASK.hides("password", 1234)


@dataclasses.dataclass
class Config:
    name: str
    api_key: str
    more: Any = None


class Model(pydantic.BaseModel):
    password: str
    more: Any = None


@attrs.define
class Attrs:
    token: str
    more: Any = None
    quiet: str = attrs.field(default="s3cr3t", repr=False)


class Pair(NamedTuple):
    user: str
    passwd: str


class Items(Mapping[str, Any]):
    def __init__(self, **items: Any):
        self._items = items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


def test_every_kind_of_object_is_masked_at_any_depth():
    plain = {"authorization": "s3cr3t", "list": [{"Cookie": "s3cr3t"}, ["x-api-key", "s3cr3t"], (b"Cookie", b"s3cr3t")]}
    masked = {
        "authorization": HIDDEN,
        "list": [{"Cookie": HIDDEN}, ["x-api-key", HIDDEN], [{"$bytes": "Q29va2ll"}, {"$masked": "bytes"}]],
    }
    assert shown(Config("n", "s3cr3t", plain)) == {"name": "n", "api_key": HIDDEN, "more": masked}
    assert shown(Model(password="s3cr3t", more=plain)) == {"password": HIDDEN, "more": masked}
    assert shown(Attrs("s3cr3t", plain)) == {"token": HIDDEN, "more": masked}
    assert shown(types.SimpleNamespace(secret="s3cr3t", more=plain)) == {"secret": HIDDEN, "more": masked}
    assert shown(Items(dsn="s3cr3t", more=plain)) == {"dsn": HIDDEN, "more": masked}
    assert shown(Pair("ann", "s3cr3t")) == ["ann", HIDDEN]
    assert shown(Headers({"authorization": "s3cr3t", "accept": "*"})) == {"authorization": HIDDEN, "accept": "*"}
    assert shown([{"deep": (Config("n", "s3cr3t"),)}])[0]["deep"][0]["api_key"] == HIDDEN
    assert b"s3cr3t" not in canonical_json(Config("n", "", frozenset([Pair("a", "s3cr3t")])), MASK)


@pytest.mark.parametrize(
    "plain",
    [
        {"authorization": "x", "messages": [{"token": "y", "content": None}]},
        [["cookie", "x"], ("password", "y")],
        {1: {"api_key": b"bytes"}},
        collections.OrderedDict(password="x"),
        collections.defaultdict(list, {"password": [b"x"]}),
        {"type": "http", "headers": [["cookie", "x"]], "path": "/"},
        {"password": float("nan"), "tuple": ("token", "x")},
    ],
    ids=str,
)
def test_plain_values_of_the_program_are_never_touched(plain: Any):
    assert canonical_json(plain, MASK) == canonical_json(plain)


def test_a_value_under_the_key_that_it_came_from_is_masked_as_there():
    assert shown({"a": KeyedValue("authorization", "x"), "b": KeyedValue("user-agent", "y")}) == {"a": HIDDEN, "b": "y"}
    assert shown(KeyedValue("authorization", "x"), None) == "x"


class Says:
    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("C(api_key='s3cr3t', n=1)", "C(api_key=<masked>, n=1)"),
        ("{'Authorization': 'Bearer s3cr3t'}", "{'Authorization': <masked>}"),
        ("Authorization: Bearer s3cr3t, Accept: *", "Authorization: <masked>, Accept: *"),
        ("<token=s3cr3t>", "<token=<masked>"),
        ('password="s3\\"cr3t" x', "password=<masked> x"),
        ("accessToken: 's3cr3t", "accessToken: <masked>"),
        ("max_tokens=5", "max_tokens=5"),
        ("[(b'cookie', 5)]", "[(b'cookie', 5)]"),
    ],
)
def test_secrets_in_a_repr_are_masked(said: str, left: str):
    assert shown(Says(said))["$repr"] == left


@pytest.mark.parametrize(
    "piece",
    ["token", "token=", "token='", "'\\", "api-", "a", "=", "token=bearer ", "password=' ", "b'\\\n", "secret: "],
)
def test_masking_a_text_takes_time_in_proportion_to_its_length(piece: str):
    long, short = piece * 80_000, piece * 20_000
    # 4 times when it is linear, 16 times when it is quadratic.
    assert_takes_at_most(10, lambda: MASK.text(long), lambda: MASK.text(short))


def test_no_keys_mask_nothing():
    nothing = Mask(())
    assert not nothing
    assert canonical_json(Config("n", "x"), nothing) == canonical_json(Config("n", "x"))
    assert nothing.text("token=x") == "token=x"


# --- machinery -------------------------------------------------------------------------------------------------------


def machinery() -> Iterator[Any]:
    yield threading.Lock()
    yield threading.RLock()
    yield threading.Event()
    yield threading.local()
    yield threading.current_thread()
    yield queue.Queue[int]()
    yield queue.SimpleQueue[int]()
    yield io.StringIO("s3cr3t")
    yield io.BytesIO(b"s3cr3t")
    yield socket.socket()
    yield logging.getLogger("x")
    yield sqlite3.connect(":memory:")
    yield contextvars.copy_context()
    yield asyncio.new_event_loop()
    yield asyncio.Lock()
    yield os.environ
    yield http.client.HTTPConnection("x")
    yield httpx.Client(headers={"authorization": "s3cr3t"})
    yield requests.Session()
    yield requests.Request("GET", "http://x", headers={"authorization": "s3cr3t"}).prepare()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_machinery_is_its_type():
    for value in machinery():
        described = shown({"x": [value]})
        assert described == {"x": [{"$type": f"{type(value).__module__}.{type(value).__qualname__}"}]}
        if isinstance(value, socket.socket | sqlite3.Connection | asyncio.AbstractEventLoop | httpx.Client):
            value.close()


def test_a_class_of_one_s_own_that_inherits_from_machinery_is_machinery_and_an_error_is_not():
    class Locked(io.StringIO):
        pass

    assert is_machinery(Locked)
    assert not any(map(is_machinery, (Config, Model, dict, int, asyncio.TimeoutError, requests.HTTPError, Says, type)))


def test_what_has_no_shape_is_described_the_same_in_every_process():
    class Plain:
        pass

    def function() -> None: ...

    assert canonical_json([Plain(), function]) == canonical_json([Plain(), function])
    assert b" at 0x" not in canonical_json([Plain(), function, Plain])


_leaves = st.just("s3cr3t") | st.just(b"s3cr3t") | st.integers()
_plain = st.recursive(
    _leaves.filter(lambda leaf: type(leaf) is int),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(DEFAULT_KEYS), _leaves | inner, max_size=3)
        | st.tuples(st.sampled_from(DEFAULT_KEYS), _leaves)
    ),
    max_leaves=20,
)


@settings(max_examples=200)
@given(_plain, st.sampled_from([Config, Model, Attrs, Items, types.SimpleNamespace]))
def test_no_graph_below_an_object_shows_a_secret(plain: Any, kind: Any):
    value = {
        Config: lambda: Config("n", "s3cr3t", plain),
        Model: lambda: Model(password="s3cr3t", more=plain),
        Attrs: lambda: Attrs("s3cr3t", plain),
    }.get(kind, lambda: kind(more=plain, token="s3cr3t"))()
    data = canonical_json([{"x": value}], MASK)
    assert b"s3cr3t" not in data
    assert b"czNjcjN0" not in data
