"""What one logger has said."""

import pytest


def messages_of(caplog: pytest.LogCaptureFixture, logger: str = "playhead") -> list[str]:
    """The messages of this logger in the running phase of the test.

    Other loggers may say something at any time: asyncio and clients, of what an earlier test left, when the garbage
    collector finds it.
    """
    return [record.getMessage() for record in caplog.records if record.name == logger]
