"""Hostile requests to every route: each operation of the API description, and the paths of other products.

Operations, parameters and fields of bodies come from the collector's own description, so that a new route is attacked
without a change here.
"""

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.postgres.store import PostgresStore

# With a key, or without its runs, a collector would refuse everything that comes after.
_LEFT_OUT = {("POST", "/api/v1/keys"), ("DELETE", "/api/v1/runs/{run}")}
_OTHER_PRODUCTS = [
    ("GET", "/api/public/projects"),
    ("GET", "/api/public/health"),
    ("GET", "/info"),
    ("POST", "/api/public/media"),
    ("PUT", "/api/public/media/{media}/{digest}"),
    ("PATCH", "/api/public/media/{media}"),
    ("POST", "/api/public/ingestion"),
    ("POST", "/runs/batch"),
    ("POST", "/runs/multipart"),
    ("POST", "/v1/projects/default/spans"),
    ("GET", "/docs"),
]
_MEDIA_FIELDS = ("traceId", "observationId", "contentType", "contentLength", "sha256Hash", "field", "uploadedAt")
_WORDS = [
    *("open", "answered", "all", "approval", "approved", "input", "x", "true", "1", "5", "last", "user", "completed"),
    *("2026-01-01T00:00:00Z", "1h", "-1", "2024-13-41", "a:b", "image/png", "order AND", '"', "quality", "default"),
]


@dataclass(frozen=True, slots=True)
class Operation:
    """A route with the names of its query parameters and of the fields of its body."""

    method: str
    path: str
    query: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to a route. `path` has the query, unquoted; `body` is empty or JSON."""

    method: str
    path: str
    body: bytes


def operations() -> Sequence[Operation]:
    """Those of the description, and of other products."""
    described = create_app(CollectorSettings(), PostgresStore(cast(Any, None), time.time_ns)).openapi()
    found = [
        Operation(method.upper(), path, _query(operation), _fields(described, operation))
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        if (method.upper(), path) not in _LEFT_OUT
    ]
    return [*found, *(Operation(method, path, fields=_MEDIA_FIELDS) for method, path in _OTHER_PRODUCTS)]


class RequestsToRoutes:
    """Makes requests to all routes, by chance. `values` makes odd JSON values, `odd` are odd texts."""

    def __init__(
        self, source: random.Random, runs: list[str], odd: Sequence[str], values: Callable[[int], Any]
    ) -> None:
        self._random, self._runs, self._odd, self._values = source, runs, odd, values
        self._operations = operations()
        self._promises = [f"{source.getrandbits(128):032x}" for _ in range(20)]

    def next(self) -> Asked:
        """One request; about half of its values are such as an honest client sends."""
        operation = self._random.choice(self._operations)
        path = operation.path
        for name in ("run", "a", "b", "seq", "ref", "promise", "number", "destination", "media", "digest"):
            path = path.replace(f"{{{name}}}", self._in_path(name))
        names = [name for name in operation.query if self._random.random() < 0.4]
        query = "&".join(f"{name}={self._text(name)}" for name in names)
        body = b"" if operation.method == "GET" else self._body(operation.fields)
        return Asked(operation.method, f"{path}?{query}" if query else path, body)

    def _in_path(self, name: str) -> str:
        pick = self._random.choice
        if self._random.random() < 0.15:
            return pick(self._odd).replace("/", "%2F")
        known = {
            **dict.fromkeys(("run", "a", "b"), pick(self._runs)),
            "seq": str(self._random.randrange(1, 60)),
            "ref": "sha256:" + f"{self._random.getrandbits(256):064x}",
            "promise": pick(self._promises),
            "digest": f"{self._random.getrandbits(256):064x}",
            "media": "A" * 22,
        }
        return known.get(name, "1")

    def _text(self, name: str) -> str:
        pick = self._random.choice
        if self._random.random() < 0.3:
            return pick(self._odd)
        if name in {"limit", "at", "from", "to", "after", "last", "preview", "runs"}:
            return str(self._random.randrange(60))
        return pick([*_WORDS, *self._runs])

    def _body(self, fields: Sequence[str]) -> bytes:
        value = {name: self._field(name) for name in fields if self._random.random() < 0.85}
        whole: Any = value if self._random.random() < 0.9 else self._values(4)
        return json.dumps(whole).encode("utf-8", "surrogatepass")

    def _field(self, name: str) -> Any:
        pick = self._random.choice
        if self._random.random() < 0.25:
            return self._values(3)
        known: dict[str, list[Any]] = {
            "id": self._promises,
            "run": [None, *self._runs],
            "kind": ["approval", "input", "event", "interrupt"],
            "outcome": ["approved", "denied", "answered"],
            "value": [0.5, 1, "good", None, {"a": 1}],
            "seconds": [0, 1, 60, 1e300, None],
            "at": [1, 5, 50, None],
            "seq": [1, 5, 50],
            "refs": [[], ["sha256:" + "0" * 64]],
            "siblings": [[], self._runs],
            "messages": [[{"role": "user", "content": "x"}], []],
        }
        return pick(known.get(name, _WORDS))


def _query(operation: dict[str, Any]) -> tuple[str, ...]:
    return tuple(each["name"] for each in operation.get("parameters", []) if each["in"] == "query")


def _fields(described: dict[str, Any], operation: dict[str, Any]) -> tuple[str, ...]:
    content: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    schemas = described["components"]["schemas"]
    names = (each["schema"].get("$ref", "").rpartition("/")[2] for each in content.values())
    return tuple(field for name in names for field in schemas.get(name, {}).get("properties", {}))
