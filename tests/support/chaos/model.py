"""The model that all chains talk to: it says the same to the same question, late by chance, and counts.

A chain is told from the others by its API key, which no question has in it.
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
    """What was asked, by chain."""

    def __init__(self, seed: int) -> None:
        self.url = ""
        self._late = random.Random(seed)
        self._asked: defaultdict[str, list[str]] = defaultdict(list)
        self._of_number: dict[int, str] = {}
        self._refused: set[tuple[str, str]] = set()
        self._mutex = threading.Lock()

    def asked(self, chain: str) -> list[str]:
        """The questions that were answered, in order, by digest."""
        with self._mutex:
            return list(self._asked[chain])

    def question(self, number: int) -> str:
        """What the request of this number asked; the answer's id begins with it."""
        with self._mutex:
            return self._of_number[number]

    def answer(self, request: ChatRequest) -> Answer:
        """Deterministic by what is asked."""
        chain = request.headers.get("authorization", "").removeprefix("Bearer ")
        question = hashlib.sha256(repr((request.stream, request.messages)).encode()).hexdigest()
        with self._mutex:
            if int(question[:4], 16) % _REFUSED == 0 and (chain, question) not in self._refused:
                self._refused.add((chain, question))
                return rate_limit(0)
            self._asked[chain].append(question)
            self._of_number[request.number] = question
            late = self._late.random() * 0.008
        return delay(late, text(f"the answer to that is {question[:12]}, and it is said in several pieces"))

    def forget(self, chain: str) -> None:
        """Nothing more is asked about this chain."""
        with self._mutex:
            self._asked.pop(chain, None)


@contextmanager
def model(seed: int = 0) -> Generator[Model]:
    """A model that listens."""
    says = Model(seed)
    with MockModelServer(keep_requests=False) as server:
        server.otherwise(says.answer)
        says.url = server.base_url
        yield says
