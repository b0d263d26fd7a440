"""Amazon Bedrock's `Converse` and `ConverseStream`: `POST /model/MODEL/converse`, and `.../converse-stream`.

Requests are signed for AWS: the access key in the signature counts as their API key.
"""

from __future__ import annotations

import re

from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response
from playhead.testing.protocols.bedrock import wire
from playhead.testing.protocols.bedrock.request import ConverseRequest, path_parts, read_converse_body
from playhead.testing.protocols.openai_http import bearer_token
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest

_OPERATIONS = {"converse": False, "converse-stream": True}
_CREDENTIAL = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/")


class BedrockConverse:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path_parts(path)[1] in _OPERATIONS

    def api_key(self, incoming: Incoming) -> str | None:
        return access_key(incoming)

    def read(self, number: int, incoming: Incoming) -> ConverseRequest:
        model, operation = path_parts(incoming.path)
        body = read_converse_body(incoming.body)
        return ConverseRequest(number, body, incoming.headers, model, _OPERATIONS[operation])

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        return wire.streamed(completion, piece_characters) if request.stream else wire.whole(completion)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return wire.error_response(failed)


def access_key(incoming: Incoming) -> str | None:
    """Returns the access key that signed the request or, for a request with an API key of Bedrock, its token."""
    match = _CREDENTIAL.match(incoming.headers.get("authorization", ""))
    return match[1] if match else bearer_token(incoming.headers)
