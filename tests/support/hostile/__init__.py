"""Hostile requests, made at random from a seed: OTLP, packs, questions, every media type, and what is no HTTP.

`requests(seed)` is an endless stream of them, each as bytes to be written to a connection. Most are honest requests
that were damaged, since pure noise gets no further than the first check. `routes` makes those to every route, and
`grpc_calls` has what is sent over gRPC.
"""

import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import zstandard

from playhead.model.canonical import Content, content_of
from playhead.model.ref import ContentRef
from playhead.outbound.otlp import traces_request
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack
from tests.support.hostile.routes import RequestsToRoutes
from tests.support.made_up_runs import MadeUpRun

_OTLP = ["/v1/traces", "/v1/logs", "/v1/metrics", "/api/public/otel/v1/traces", "/otel/v1/logs"]
_MEDIA = [
    "application/x-protobuf",
    "application/json",
    "application/json; charset=utf-16",
    PACK,
    "text/plain",
    "",
    "application/grpc",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "image/svg+xml",
    "a/b",
    "\xff\xfe",
    "x" * 3_000,
]
_ENCODINGS = ["", "", "gzip", "deflate", "zstd", "br", "gzip, gzip", "identity", "\x80"]
_METHODS = ["GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "BREW"]
_NUMBERS = [
    "0",
    "-1",
    "1",
    "99999999999999999999",
    "1e309",
    "NaN",
    "\u0661",
    "0x10",
    "1" * 5_000,
    "",
    " ",
    "\x00",
    "true",
]
_ASKED = [
    "",
    "/events",
    "/state",
    "/context",
    "/messages",
    "/llm-calls",
    "/tool-calls",
    "/spans",
    "/logs",
    "/decisions",
    "/decisions/1",
    "/attributions",
    "/attributions/{n}",
    "/causes/{n}",
    "/diff",
    "/compressions",
    "/compressions/{n}",
    "/tokens",
    "/reasoning/{n}",
    "/lease",
    "/explain",
    "/compare/{run}",
]
_PARAMETERS = [
    "at",
    "limit",
    "cursor",
    "from",
    "to",
    "hydrate",
    "kind",
    "agent",
    "status",
    "since",
    "until",
    "text",
    "q",
    "exact",
]
_TEXTS = [
    "",
    "x" * 2_000,
    "%00",
    "%ff%fe",
    "'; drop table run; --",
    "../../etc/passwd",
    "%F0%9F%98%80",
    "\u202e",
    "*",
    "[",
    "{}",
    "%",
]


@dataclass(frozen=True, slots=True)
class Hostile:
    """One request. `kind` names how it was made."""

    kind: str
    data: bytes


def requests(seed: int, runs: list[str]) -> Iterator[Hostile]:
    """An endless stream; `runs` are runs that exist."""
    maker = RequestMaker(random.Random(seed), runs)
    kinds: list[tuple[str, Callable[[], bytes], int]] = [
        ("otlp", maker.otlp, 30),
        ("pack", maker.pack, 15),
        ("refs", maker.refs, 10),
        ("question", maker.question, 20),
        ("route", maker.route, 25),
        ("log records", maker.log_records, 8),
        ("no http", maker.no_http, 8),
        ("bomb", maker.bomb, 2),
    ]
    weights = [weight for _, _, weight in kinds]

    def made() -> Iterator[Hostile]:
        while True:
            name, make, _ = maker.random.choices(kinds, weights)[0]
            yield Hostile(name, make())

    return made()


class RequestMaker:
    """Makes one request of each kind."""

    def __init__(self, source: random.Random, runs: list[str]) -> None:
        self.random = source
        self.runs = runs
        run = MadeUpRun(3)
        self.honest = traces_request(list(run.spans))
        contents = (content_of({"role": "user", "content": "x"}), content_of("text"), Content(b"\x00\xff", "image/png"))
        self.honest_pack = encode_pack(Pack(contents, (ThreadExtension(None, (contents[0].ref,)),)))
        self.bombs = _bombs()
        self.routes = RequestsToRoutes(source, runs, [*_NUMBERS, *_TEXTS], self._value)

    # --- kinds --------------------------------------------------------------------------------------------------------

    def otlp(self) -> bytes:
        pick = self.random.choice
        body = pick([self._damaged, self._json, self._noise])(self.honest)
        media = pick(_MEDIA[:2]) if self.random.random() < 0.8 else pick(_MEDIA)
        return self._request("POST", pick(_OTLP), media, body)

    def pack(self) -> bytes:
        pick = self.random.choice
        body = pick([self._damaged, self._odd_pack, self._noise])(self.honest_pack)
        return self._request("POST", "/v1/content", PACK if self.random.random() < 0.8 else pick(_MEDIA), body)

    def refs(self) -> bytes:
        path = self.random.choice(["/v1/content/missing", "/api/v1/content/batch"])
        refs: list[Any] = [self._ref() for _ in range(self.random.choice([0, 1, 3, 100, 1_001, 10_001]))]
        if self.random.random() < 0.3:
            refs.insert(0, self._value(3))
        value = {"refs": refs} if self.random.random() < 0.8 else self._value(4)
        return self._request("POST", path, "application/json", json.dumps(value).encode("utf-8", "surrogatepass"))

    def question(self) -> bytes:
        pick = self.random.choice
        run = pick(self.runs) if self.random.random() < 0.6 else pick(["last", "0" * 32, *_TEXTS[:8]])
        path = f"/api/v1/runs/{run}" + pick(_ASKED).format(n=pick(_NUMBERS), run=pick([*self.runs, "x"]))
        if self.random.random() < 0.2:
            path = pick(
                [
                    f"/api/v1/content/{self._ref()}",
                    "/api/v1/runs",
                    "/metrics",
                    "/api/v1/openapi.json",
                    "/" + pick(_TEXTS),
                ]
            )
        names = self.random.sample(_PARAMETERS, self.random.randint(0, 4))
        query = "&".join(f"{name}={pick([*_NUMBERS, *_TEXTS, 'true'])}" for name in names)
        method = "GET" if self.random.random() < 0.8 else pick(_METHODS)
        body = b"" if method == "GET" else json.dumps(self._value(4)).encode("utf-8", "surrogatepass")
        return self._request(
            method, _quoted(f"{path}?{query}" if query else path), "application/json" if body else "", body
        )

    def route(self) -> bytes:
        asked = self.routes.next()
        media = "application/json" if asked.body else ""
        return self._request(asked.method, _quoted(asked.path), media, asked.body)

    def log_records(self) -> bytes:
        """Log events of runs: state changes, scores, messages, with odd bodies and times."""
        pick = self.random.choice
        record: dict[str, Any] = {
            "traceId": pick([*self.runs, "0" * 32, self._value(0)]),
            "spanId": f"{self.random.getrandbits(64):016x}",
            "timeUnixNano": pick(["1700000000000000000", *_NUMBERS]),
            "eventName": pick(["playhead.state", "playhead.checkpoint", "gen_ai.evaluation.result", "x", "\x00"]),
            "body": {"stringValue": self._value(2)} if self.random.random() < 0.5 else self._value(4),
            "attributes": self._attributes(),
        }
        if self.random.random() < 0.7:
            record["attributes"].append({"key": "playhead.run.id", "value": {"stringValue": pick(self.runs)}})
        body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record, self._value(2)]}]}]}
        data = json.dumps(body).encode("utf-8", "surrogatepass")
        return self._request("POST", pick(["/v1/logs", "/otel/v1/logs"]), "application/json", data)

    def damaged_spans(self) -> bytes:
        """An OTLP message with damage, as it goes over gRPC."""
        return self.random.choice([self._damaged, self._damaged, self._noise])(self.honest)

    def protobuf_bombs(self) -> list[bytes]:
        """Messages that unpack into much, as gRPC takes them."""
        return [body for path, media, encoding, body in self.bombs if "protobuf" in media and encoding == "gzip"]

    def no_http(self) -> bytes:
        pick = self.random.choice
        return pick(
            [
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(30),
                b"\x16\x03\x01" + self.random.randbytes(200),
                self.random.randbytes(self.random.randint(1, 2_000)),
                b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
                b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
                b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                b"POST /v1/traces HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
                b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                b"GET /healthz HTTP/1.0\r\n\r\n",
                b"GET /api/v1/runs HTTP/1.1\r\nHost: evil.com\r\n\r\n",
                b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.com\r\n\r\n",
                b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                b"GET http://evil.com/api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n",
                b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ]
        )

    def bomb(self) -> bytes:
        path, media, encoding, body = self.random.choice(self.bombs)
        return _request("POST", path, media, body, encoding)

    # --- their parts --------------------------------------------------------------------------------------------------

    def _request(self, method: str, path: str, media: str, body: bytes) -> bytes:
        encoding = self.random.choice(_ENCODINGS) if self.random.random() < 0.4 else ""
        if self.random.random() < 0.7:  # what it says
            body = _PACKERS.get(encoding, bytes)(body)
        return _request(method, path, media, body, encoding)

    def _damaged(self, honest: bytes) -> bytes:
        data = bytearray(honest)
        for _ in range(self.random.choice([0, 1, 1, 3, 30])):
            at = self.random.randrange(len(data))
            match self.random.randrange(4):
                case 0:
                    data[at] = self.random.randrange(256)
                case 1:
                    del data[at : at + self.random.randrange(20)]
                case 2:
                    data[at:at] = self.random.randbytes(self.random.randrange(20))
                case _:
                    data[at:at] = data[: self.random.randrange(1, 200)]
            data = data or bytearray(b"x")
        return bytes(data)

    def _noise(self, _: bytes) -> bytes:
        return self.random.randbytes(self.random.choice([0, 1, 10, 300, 5_000]))

    def _json(self, _: bytes) -> bytes:
        span = {
            name: self._value(3)
            for name in ("traceId", "spanId", "name", "attributes", "events", "links", "startTimeUnixNano")
        }
        if self.random.random() < 0.6:
            span |= {"traceId": f"{self.random.randrange(50):032x}", "spanId": f"{self.random.randrange(1, 50):016x}"}
            span |= {
                "name": "chat",
                "startTimeUnixNano": self.random.choice(_NUMBERS),
                "attributes": self._attributes(),
            }
        body = {"resourceSpans": [{"resource": self._value(2), "scopeSpans": [{"spans": [span, self._value(2)]}]}]}
        text = json.dumps(self._value(5) if self.random.random() < 0.2 else body)
        return text.encode("utf-8", "surrogatepass")

    def _attributes(self) -> list[Any]:
        keys = [
            "gen_ai.input.messages",
            "playhead.run.id",
            "gen_ai.usage.input_tokens",
            "llm.messages",
            "\x00",
            "",
            "a" * 300,
        ]
        kinds = [
            "stringValue",
            "intValue",
            "doubleValue",
            "boolValue",
            "arrayValue",
            "kvlistValue",
            "bytesValue",
            "nothing",
        ]
        pick = self.random.choice
        return [{"key": pick(keys), "value": {pick(kinds): self._value(3)}} for _ in range(self.random.randrange(5))]

    def _odd_pack(self, _: bytes) -> bytes:
        header = {"v": self.random.choice([1, 1, 1, 2, "1"]), "media": [self.random.choice(_MEDIA)], "digest": "0" * 64}
        header |= {"contents": [[0, 3]], "threads": [[None, [0]]]}
        for name in self.random.sample(list(header), self.random.randrange(4)):
            header[name] = self._value(3)
        head = json.dumps(header).encode("utf-8", "surrogatepass")
        size = len(head) if self.random.random() < 0.8 else self.random.randrange(2**32)
        return size.to_bytes(4, "big") + head + b"abc"

    def _ref(self) -> Any:
        whole = ContentRef.of(self.random.randbytes(3))
        return self.random.choice(
            [str(whole), str(whole)[:-1], "sha256:", "", "x" * 71, str(whole).upper(), str(whole) + ":text"]
        )

    def _value(self, depth: int) -> Any:
        pick = self.random.choice
        match self.random.randrange(8 if depth else 6):
            case 0:
                return pick([0, -1, 2**63, 2**64, 10**400, 1.5, 1e308])
            case 1:
                return pick(["", "x", "\x00", "\ud800", "\U0001f600", "x" * 3_000, "[" * 500, '{"a":' * 200])
            case 2:
                return pick([None, True, False])
            case 3 | 4:
                return pick(["5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174", "1700000000000000000"])
            case 5:
                return pick([[], {}])
            case 6:
                return [self._value(depth - 1) for _ in range(self.random.randrange(4))]
            case _:
                return {
                    pick(["a", "stringValue", "key", "", "\x00"]): self._value(depth - 1)
                    for _ in range(self.random.randrange(4))
                }


_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def _bombs() -> list[tuple[str, str, str, bytes]]:
    """(path, media type, encoding, body) of bodies that unpack into much; made once."""
    protobuf, as_json = "application/x-protobuf", "application/json"

    def nested(number: int, data: bytes) -> bytes:
        size, length = bytearray(), len(data)
        while length > 127:
            size.append(length & 127 | 128)
            length >>= 7
        return bytes([number << 3 | 2, *size, length]) + data

    head = b'{"v":1,"digest":"","media":["a/b"],"threads":[],"contents":[' + b"[0,0]," * 300_000 + b"[0,0]]}"
    spans = nested(1, nested(2, b"\x12\x00" * 2_100_000))
    links = nested(
        1, nested(2, nested(2, b"\x0a\x10" + bytes([1] * 16) + b"\x12\x08" + bytes([1] * 8) + b"\x6a\x00" * 1_000_000))
    )
    return [
        ("/v1/traces", protobuf, "gzip", gzip.compress(spans)),
        ("/v1/traces", protobuf, "gzip", gzip.compress(links)),
        ("/v1/traces", protobuf, "gzip", gzip.compress(b"\x0a\x00" * 4_000_000)),
        ("/v1/traces", protobuf, "zstd", zstandard.ZstdCompressor().compress(bytes(200 * 2**20))),
        ("/v1/traces", as_json, "gzip", gzip.compress(b"[" * 5_000_000)),
        ("/v1/traces", as_json, "gzip", gzip.compress(b'{"resourceSpans":[' + b"{}," * 2_000_000 + b"{}]}")),
        ("/v1/logs", as_json, "deflate", zlib.compress(b'{"a":' * 1_000_000)),
        ("/v1/content", PACK, "gzip", gzip.compress(len(head).to_bytes(4, "big") + head)),
        ("/v1/content/missing", as_json, "gzip", gzip.compress(b'{"refs":[' + b"1," * 5_000_000 + b"1]}")),
        ("/api/v1/content/batch", as_json, "", b'{"refs":[' + b'"x",' * 500_000 + b'"x"]}'),
        ("/api/v1/content/batch", as_json, "", b"[" * 1_000_000),
    ]


def _request(method: str, path: str, media: str, body: bytes, encoding: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {media}"] if media else []
    lines += [f"Content-Encoding: {encoding}"] if encoding else []
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def _quoted(path: str) -> str:
    return "".join(c if 33 <= ord(c) < 127 else f"%{ord(c) & 255:02x}" for c in path)
