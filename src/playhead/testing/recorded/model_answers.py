"""recorded run → [model_answers] → script. The mock model server gives the answers of a recorded model again."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from playhead.testing.answers import Answer, Dropped, Failed
from playhead.testing.request import ChatRequest

_RETRY_HEADER = "x-stainless-retry-count"


class RecordedAnswers:
    """Answers each request as the model did when the run was recorded: `mock_model.otherwise(RecordedAnswers(...))`.

    Each answer comes with the beginning of the message that it answered. A request gets the first unused answer whose
    message begins like the request's last message; if there is none, the first unused answer, since a prompt may
    change, and branches may run in another order. Thread-safe.
    """

    def __init__(self, answers: Sequence[tuple[str, Answer]]) -> None:
        self._left = list(answers)
        self._count = len(self._left)
        self._failed: dict[bytes, Failed | Dropped] = {}
        self._lock = threading.Lock()

    @property
    def unused(self) -> int:
        """The number of answers that no request has got yet."""
        return len(self._left)

    def __call__(self, request: ChatRequest) -> Answer:
        """Returns the answer to this request. A client's own retry of a failed request gets the same failure."""
        request_digest = request.prefixes[-1][0]
        with self._lock:
            if request.headers.get(_RETRY_HEADER, "0") != "0" and request_digest in self._failed:
                return self._failed[request_digest]
            if not self._left:
                return _none_left(self._count)
            last = next(request.texts(last=True), "")
            fitting = (
                index
                for index, (beginning, _) in enumerate(self._left)
                if (beginning and last.startswith(beginning)) or beginning == last
            )
            _, answer = self._left.pop(next(fitting, 0))
            if isinstance(answer, Failed | Dropped):
                self._failed[request_digest] = answer
            return answer


def _none_left(count: int) -> Failed:
    message = (
        f"The recorded run asked the model {count} times, and this is one more: the program does something else than "
        "when it was recorded. Compare its calls with the recorded ones."
    )
    return Failed(400, message, "invalid_request_error")
