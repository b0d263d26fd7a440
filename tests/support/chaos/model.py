"""The model that all chains talk to: it says the same to the same question, late by chance, and counts.

The API key, which no question has in it, is the chain's name and the attempt's number: what a killed process has sent
may arrive late.
"""

import hashlib
import random
import threading
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager

from playhead.testing import MockModelServer, delay, rate_limit, text
from playhead.testing.answers import Answer
from playhead.testing.request import ChatRequest

# Of the questions, so many are refused when they are first asked; the client asks again by itself.
_REFUSED = 6


class Model:
    """What was asked, by attempt."""

    def __init__(self, seed: int) -> None:
        self.url = ""
        self._late = random.Random(seed)
        self._asked: defaultdict[str, list[str]] = defaultdict(list)
        self._of_number: dict[int, str] = {}
        self._refused: set[tuple[str, str]] = set()
        self._mutex = threading.Lock()

    def asked(self, key: str) -> list[str]:
        """The questions of one attempt that were answered, in order, by digest."""
        with self._mutex:
            return list(self._asked[key])

    def question(self, number: int) -> str:
        """What the request of this number asked; the answer's id begins with it."""
        with self._mutex:
            return self._of_number[number]

    def answer(self, request: ChatRequest) -> Answer:
        """Deterministic by what is asked."""
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        chain = key.partition("/")[0]
        question = hashlib.sha256(repr((request.stream, request.messages)).encode()).hexdigest()
        with self._mutex:
            if int(question[:4], 16) % _REFUSED == 0 and (chain, question) not in self._refused:
                self._refused.add((chain, question))
                return rate_limit(0)
            self._asked[key].append(question)
            self._of_number[request.number] = question
            late = self._late.random() * 0.008
        return delay(late, text(f"the answer to that is {question[:12]}, and it is said in several pieces"))


@contextmanager
def model(seed: int = 0) -> Generator[Model]:
    """A model that listens."""
    says = Model(seed)
    with MockModelServer(keep_requests=False) as server:
        server.otherwise(says.answer)
        says.url = server.base_url
        yield says
