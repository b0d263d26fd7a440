"""HTTP request → [endpoint] → HTTP response, both as values. Finds the protocol, checks the key, answers each request.

Uses no socket, and no clock but that of its settings, so the server can be tested without a network.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hmac import compare_digest
from urllib.parse import parse_qsl

from playhead.testing import protocols
from playhead.testing.answers import Answer, AssistantMessage, Delayed, Dropped, Failed, Recorded
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response, cut, json_response
from playhead.testing.protocols.openai_http import bearer_token, error_response
from playhead.testing.protocols.protocol import Incoming, KeepsResponses, ModelProtocol
from playhead.testing.request import ChatRequest, InvalidRequest
from playhead.testing.script import NoAnswer, ScriptPlayer
from playhead.testing.trajectories import NoSuchTurn

_NO_RETRY = {"x-should-retry": "false"}


@dataclass(frozen=True, slots=True)
class MockServerSettings:
    """Settings of a server. `latency_seconds`: delay before each answer. `thinking_on_request`: only requests that ask
    for thinking get it."""

    api_key: str | None = None
    clock: Callable[[], float] = time.time
    models: Sequence[str] = ("mock-model",)
    piece_characters: int = 16
    keep_requests: bool = True
    latency_seconds: float = 0
    thinking_on_request: bool = False


class MockEndpoint:
    """Answers HTTP requests from a script. Thread-safe."""

    def __init__(self, script: ScriptPlayer, settings: MockServerSettings) -> None:
        self._script = script
        self._settings = settings
        self._protocols = protocols.made()
        self._lock = threading.Lock()
        self._count = 0
        self._requests: list[ChatRequest] = []
        self._seen: set[bytes] = set()

    @property
    def requests(self) -> list[ChatRequest]:
        with self._lock:
            return list(self._requests)

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Answers a request. Never raises, whatever a client or a script does."""
        path, _, query = path.partition("?")
        if path == "/healthz":
            return json_response({"status": "ok"})
        incoming = Incoming(method, path, dict(parse_qsl(query)), headers, body)
        if method == "GET" and (fetched := self._fetch(incoming)) is not None:
            return replace(fetched, wait_seconds=self._settings.latency_seconds)
        protocol = next((candidate for candidate in self._protocols if candidate.takes(path)), None)
        fail = error_response if protocol is None else protocol.fail
        if not self._admits(bearer_token(headers) if protocol is None else protocol.api_key(incoming)):
            return fail(_WRONG_KEY)
        if protocol is None and path != "/v1/models" and not path.startswith("/v1/models/"):
            return fail(_refusal(404, f"Unknown request URL: {method} {path}.", "unknown_url"))
        wanted = "GET" if protocol is None else "POST"
        if method != wanted:
            return fail(_refusal(405, f"Not allowed: {method} {path}; use {wanted}.", "method_not_allowed"))
        return self._models(path) if protocol is None else self._complete(protocol, incoming)

    def _fetch(self, incoming: Incoming) -> Response | None:
        for protocol in self._protocols:
            if isinstance(protocol, KeepsResponses) and (response := protocol.fetch(incoming)) is not None:
                return response if self._admits(protocol.api_key(incoming)) else protocol.fail(_WRONG_KEY)
        return None

    def _admits(self, sent_key: str | None) -> bool:
        key = self._settings.api_key
        return key is None or compare_digest((sent_key or "").encode(), key.encode())

    def _models(self, path: str) -> Response:
        name = path.removeprefix("/v1/models").lstrip("/")
        models = [{"id": id_, "object": "model", "created": 0, "owned_by": "playhead"} for id_ in self._settings.models]
        if not name:
            return json_response({"object": "list", "data": models})
        matches = [model for model in models if model["id"] == name]
        missing = f"The model '{name}' does not exist."
        return (
            json_response(matches[0]) if matches else error_response(_refusal(404, missing, "model_not_found"), "model")
        )

    def _complete(self, protocol: ModelProtocol, incoming: Incoming) -> Response:
        try:
            request = self._accept(protocol, incoming)
        except InvalidRequest as error:
            return protocol.fail(_refusal(400, error.sentence, "invalid_request"), error.param)
        try:
            response = self._render(protocol, self._script.answer(request), request)
        except NoAnswer as error:
            response = protocol.fail(_refusal(400, str(error), "no_rule_matches"))
        except NoSuchTurn as error:
            code = "trajectory_not_found" if error.status == 404 else "trajectory_mismatch"
            response = protocol.fail(_refusal(error.status, str(error), code))
        except Exception as error:  # noqa: BLE001
            # Rules and answers may be functions of the user: the test sees their exception as an error of the API.
            sentence = f"A rule or an answer raised {type(error).__name__}: {error}"
            response = protocol.fail(_refusal(400, sentence, "script_raised"))
        request_id = {"x-request-id": f"req_{request.number:06d}"}
        waiting = response.wait_seconds + self._settings.latency_seconds
        return replace(response, headers={**response.headers, **request_id}, wait_seconds=waiting)

    def _accept(self, protocol: ModelProtocol, incoming: Incoming) -> ChatRequest:
        with self._lock:
            request = protocol.read(self._count + 1, incoming)
            self._count += 1
            if self._settings.keep_requests:
                self._requests.append(request)
            return request

    def _render(self, protocol: ModelProtocol, answer: Answer, request: ChatRequest) -> Response:
        match answer:
            case AssistantMessage() | Recorded():
                return self._render_message(protocol, answer, request)
            case Failed():
                return protocol.fail(answer)
            case Delayed(seconds=seconds, answer=then):
                later = self._render(protocol, then, request)
                return replace(later, wait_seconds=later.wait_seconds + seconds)
            case Dropped(answer=message, after_chunks=after_chunks):
                whole = self._render_message(protocol, message, request) if message else Response(200, [])
                return cut(whole, after_chunks)

    def _render_message(
        self, protocol: ModelProtocol, answer: AssistantMessage | Recorded, request: ChatRequest
    ) -> Response:
        created, cached = int(self._settings.clock()), self._cached_tokens(request)
        thinks = request.asks_for_thinking if self._settings.thinking_on_request else request.wants_thinking
        completion = Completion.of(answer, request, created=created, cached_tokens=cached, thinks=thinks)
        return protocol.render(completion, request, self._settings.piece_characters)

    def _cached_tokens(self, request: ChatRequest) -> int:
        """Returns the tokens of the longest beginning that this request shares with an earlier answered one. Remembers
        the beginnings of this request."""
        with self._lock:
            cached = next((tokens for name, tokens in reversed(request.prefixes) if name in self._seen), 0)
            self._seen.update(name for name, _ in request.prefixes)
        return cached


def _refusal(status: int, sentence: str, code: str) -> Failed:
    """Makes an error of the request or of the test itself. A header tells clients not to retry, whatever the status."""
    return Failed(status, sentence, "invalid_request_error", code, _NO_RETRY)


_WRONG_KEY = _refusal(
    401, "Incorrect API key provided: it is not the api_key this mock model server was given.", "invalid_api_key"
)
