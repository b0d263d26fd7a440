"""What the code under test has logged."""

import threading

import pytest


def messages_of(caplog: pytest.LogCaptureFixture, logger: str = "playhead") -> list[str]:
    """The messages of this logger in this thread while the test ran, asked for by the test or when it has ended.

    Others may log at any time: threads of earlier tests that end late, and asyncio and clients of what an earlier test
    left, when the garbage collector finds it.
    """
    mine = threading.get_ident()
    records = caplog.get_records("call")  # `caplog.records` would be those of the teardown, in a fixture that ends
    return [record.getMessage() for record in records if (record.name, record.thread) == (logger, mine)]
