"""HTTP body → [huggingface] → HTTP response.  Tasks of Hugging Face's Inference API that have a form of their own:
`POST /models/NAME` generates text, `POST /models/NAME/pipeline/feature-extraction` gives embeddings.

Its Chat Completions are those of `openai_chat`. Rules see the input as messages of the user. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playhead.model.json_value import is_list
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import EVENTS_TYPE, Response, in_pieces, json_response, server_sent_event
from playhead.testing.protocols.openai_embeddings import DIMENSIONS, vector
from playhead.testing.protocols.openai_http import bearer_token
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, json_object, text_of

_MODELS = "/models/"
_FEATURES = "/pipeline/feature-extraction"


@dataclass(frozen=True)
class TaskRequest(ChatRequest):
    """A request of a task. The path names the model and the task."""

    path_model: str = ""
    is_embedding_task: bool = False

    @property
    def model(self) -> str:
        return self.path_model

    @property
    def is_embedding(self) -> bool:
        return self.is_embedding_task

    @property
    def texts_in(self) -> Sequence[str]:
        """The inputs."""
        inputs: Any = self.body["inputs"]
        return [inputs] if isinstance(inputs, str) else inputs

    @property
    def messages(self) -> list[JsonObject]:
        return [{"role": "user", "content": text} for text in self.texts_in]

    @property
    def choices(self) -> int:
        return 1

    @property
    def wants_details(self) -> bool:
        """Whether the answer has details beside its text."""
        parameters: JsonObject = self.body.get("parameters") or {}
        return bool(parameters.get("details"))


class HuggingFaceTasks:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path.startswith(_MODELS) and ":" not in path.rpartition("/")[2]

    def api_key(self, incoming: Incoming) -> str | None:
        return bearer_token(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> TaskRequest:
        body = json_object(incoming.body)
        is_embedding = incoming.path.endswith(_FEATURES)
        inputs: object = body.get("inputs")
        texts = inputs if is_embedding and is_list(inputs) else [inputs]
        if not texts or not all(isinstance(each, str) for each in texts):
            raise InvalidRequest("'inputs' must be a text, or a list of texts for embeddings.", "inputs")
        model = incoming.path.removeprefix(_MODELS).removesuffix(_FEATURES)
        return TaskRequest(number, body, incoming.headers, model, is_embedding)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, TaskRequest)  # noqa: S101 - made by `read`
        if request.is_embedding:
            dimensions = request.body.get("dimensions") or DIMENSIONS
            return json_response([vector(text, dimensions) for text in request.texts_in])
        text = text_of(completion.messages[0])
        details: JsonObject = {
            "finish_reason": "eos_token",
            "generated_tokens": completion.usage.output,
            "seed": None,
        }
        if not request.stream:
            more: JsonObject = {"details": {**details, "prefill": [], "tokens": []}} if request.wants_details else {}
            return json_response([{"generated_text": text, **more}])
        pieces = [*in_pieces(text, piece_characters)]
        events: list[bytes] = []
        for index, piece in enumerate(pieces, 1):
            event: JsonObject = {
                "index": index,
                "token": {"id": index, "text": piece, "logprob": -0.5, "special": False},
                "generated_text": None,
                "details": None,
            }
            if index == len(pieces):
                event |= {"generated_text": text, "details": {**details, "input_length": completion.usage.input}}
            events.append(server_sent_event(event))
        return Response(200, events, EVENTS_TYPE)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return json_response({"error": failed.message}, failed.status, failed.headers)
