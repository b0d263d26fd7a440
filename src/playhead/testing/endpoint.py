"""HTTP request → [endpoint] → HTTP response, both as values.  Routes, the key, and one answer to each request.

Knows no socket and no clock but the one it is given, so all that the server says can be tested without a network.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hmac import compare_digest

from playhead.testing import responses_wire, wire
from playhead.testing.answers import Answer, Delayed, Dropped, Failed, Recorded, Said
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, read_body
from playhead.testing.responses_request import ResponsesRequest, read_responses_body
from playhead.testing.script import NoAnswer, Script
from playhead.testing.trajectories import NoSuchTurn
from playhead.testing.wire import Response

_CHAT, _RESPONSES = "/v1/chat/completions", "/v1/responses"
# A conversation that nobody continues must not become a leak: each keeps as much of those before it as it needs.
_MAX_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class MockServerSettings:
    """What a server is told once, when it is made."""

    api_key: str | None = None
    clock: Callable[[], float] = time.time
    models: Sequence[str] = ("mock-model",)
    piece_characters: int = 16
    keep_requests: bool = True


class MockEndpoint:
    """Answers HTTP requests from a script. Thread-safe."""

    def __init__(self, script: Script, settings: MockServerSettings) -> None:
        self._script = script
        self._settings = settings
        self._lock = threading.Lock()
        self._count = 0
        self._requests: list[ChatRequest] = []
        self._seen: set[bytes] = set()
        self._remembered: dict[str, list[JsonObject]] = {}

    @property
    def requests(self) -> list[ChatRequest]:
        with self._lock:
            return list(self._requests)

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Never raises for anything a client or a script does."""
        path = path.partition("?")[0]
        if path == "/healthz":
            return wire.body({"status": "ok"})
        if not self._admits(headers):
            sentence = "Incorrect API key provided: it is not the api_key this mock model server was given."
            return wire.refusal(401, sentence, "invalid_api_key")
        wanted = "POST" if path in {_CHAT, _RESPONSES} else "GET"
        if wanted == "GET" and path != "/v1/models" and not path.startswith("/v1/models/"):
            return wire.refusal(404, f"Unknown request URL: {method} {path}.", "unknown_url")
        if method != wanted:
            return wire.refusal(405, f"Not allowed: {method} {path}; use {wanted}.", "method_not_allowed")
        return self._complete(path, headers, body) if wanted == "POST" else self._models(path)

    def _admits(self, headers: Mapping[str, str]) -> bool:
        key = self._settings.api_key
        return key is None or compare_digest(headers.get("authorization", "").encode(), f"Bearer {key}".encode())

    def _models(self, path: str) -> Response:
        name = path.removeprefix("/v1/models").lstrip("/")
        models = [{"id": id_, "object": "model", "created": 0, "owned_by": "playhead"} for id_ in self._settings.models]
        if not name:
            return wire.body({"object": "list", "data": models})
        found = [model for model in models if model["id"] == name]
        missing = f"The model '{name}' does not exist."
        return wire.body(found[0]) if found else wire.refusal(404, missing, "model_not_found", "model")

    def _complete(self, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        try:
            read = read_responses_body if path == _RESPONSES else read_body
            request = self._accept(path, read(body), headers)
        except InvalidRequest as error:
            return wire.refusal(400, error.sentence, "invalid_request", error.param)
        try:
            response = self._render(self._script.answer(request), request)
        except NoAnswer as error:
            response = wire.refusal(400, str(error), "no_rule_matches")
        except NoSuchTurn as error:
            code = "trajectory_not_found" if error.status == 404 else "trajectory_mismatch"
            response = wire.refusal(error.status, str(error), code)
        except Exception as error:  # noqa: BLE001
            # Rules and answers may be the user's own functions: what they raise is shown where the test can see it.
            response = wire.refusal(400, f"A rule or an answer raised {type(error).__name__}: {error}", "script_raised")
        return replace(response, headers={**response.headers, "x-request-id": f"req_{request.number:06d}"})

    def _accept(self, path: str, body: JsonObject, headers: Mapping[str, str]) -> ChatRequest:
        with self._lock:
            before = self._before(body) if path == _RESPONSES else []
            self._count += 1
            request = (
                ResponsesRequest(self._count, body, headers, before)
                if path == _RESPONSES
                else ChatRequest(self._count, body, headers)
            )
            if self._settings.keep_requests:
                self._requests.append(request)
            return request

    def _before(self, body: JsonObject) -> list[JsonObject]:
        """The items of the responses that this request continues.  Raises BadRequest."""
        previous = body.get("previous_response_id")
        if previous is None:
            return []
        if previous not in self._remembered:
            raise InvalidRequest(f"Previous response with id '{previous}' not found.", "previous_response_id")
        return self._remembered[previous]

    def _render(self, answer: Answer, request: ChatRequest) -> Response:
        match answer:
            case Said() | Recorded():
                return self._said(answer, request)
            case Failed():
                return wire.error(answer)
            case Delayed(seconds=seconds, answer=then):
                later = self._render(then, request)
                return replace(later, wait_seconds=later.wait_seconds + seconds)
            case Dropped(answer=said, after_chunks=after_chunks):
                whole = self._said(said, request) if said else Response(200, [])
                return wire.cut(whole, after_chunks)

    def _said(self, answer: Said | Recorded, request: ChatRequest) -> Response:
        completion = wire.Completion.of(
            answer,
            request,
            created=int(self._settings.clock()),
            cached_tokens=self._cached_tokens(request),
        )
        pieces = self._settings.piece_characters
        if isinstance(request, ResponsesRequest):
            response = self._remember(responses_wire.response_object(completion, request), request)
            return responses_wire.streamed(response, pieces) if request.stream else responses_wire.whole(response)
        if not request.stream:
            return wire.whole(completion)
        return wire.streamed(completion, include_usage=request.include_usage, piece_characters=pieces)

    def _remember(self, response: JsonObject, request: ResponsesRequest) -> JsonObject:
        if request.body.get("store", True):
            with self._lock:
                self._remembered[response["id"]] = [*request.items, *response["output"]]
                if len(self._remembered) > _MAX_REMEMBERED:
                    del self._remembered[next(iter(self._remembered))]
        return response

    def _cached_tokens(self, request: ChatRequest) -> int:
        """The tokens of the longest beginning that an earlier answered request had too."""
        with self._lock:
            known = next((tokens for name, tokens in reversed(request.prefixes) if name in self._seen), 0)
            self._seen.update(name for name, _ in request.prefixes)
        return known
