from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from playhead.api.promises.waiting import answer_of
from playhead.journal.promises import PromiseFiles
from playhead.wire.operations.promises import Promise
from tests.support.journal_reader import Recording


@pytest.fixture(autouse=True)
def nobody_listens(recording: Recording) -> None:
    """Nothing is at the discard port."""
    recording.configure(endpoint="http://127.0.0.1:9")


@pytest.fixture
def files(recording: Recording) -> PromiseFiles:
    return PromiseFiles(recording.folder, 3600)


@pytest.fixture
def answering(files: PromiseFiles) -> Callable[..., Thread]:
    """Starts a person who answers the first open promise."""

    def start(outcome: str, **answer: Any) -> Thread:
        def person() -> None:
            found = wait_until_open(files)
            files.answer(found["id"], answer_of(outcome, **answer))

        thread = Thread(target=person)
        thread.start()
        return thread

    return start


def wait_until_open(files: PromiseFiles) -> Promise:
    """The first open promise, which may take a while to come."""
    import time

    until = time.monotonic() + 180
    while time.monotonic() < until:
        found = [promise for promise in files.all() if promise["answer"] is None]
        if found:
            return found[0]
        time.sleep(0.01)
    raise AssertionError("nothing was asked")


def journal_of(path: Path) -> PromiseFiles:
    return PromiseFiles(path, 3600)
