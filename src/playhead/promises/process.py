"""Creates the store of promises of this process on first use, for the settings in force."""

import threading
from pathlib import Path
from typing import Any

from playhead.journal.promises import PromiseFiles
from playhead.promises.store import Promises
from playhead.settings.sdk import Settings

# A collector that takes longer counts as down; a waiting program asks again later.
_TIMEOUT_SECONDS = 2.0


class _Made:
    mutex = threading.Lock()
    key: tuple[Path, str | None] | None = None
    promises: Promises | None = None


def promises_of(settings: Settings) -> Promises:
    """Returns the store for these settings: the same one as long as journal and collector are the same."""
    key = (settings.journal_dir, settings.endpoint)
    with _Made.mutex:
        if _Made.promises is None or _Made.key != key:
            client = None if settings.endpoint is None else lambda: _client(settings)
            files = PromiseFiles(settings.journal_dir, settings.promise_keep_seconds)
            _Made.key, _Made.promises = key, Promises(files, client)
        return _Made.promises


def drain_promises(seconds: float) -> None:
    """Waits until the collector knows this process's promises, at most `seconds`."""
    if _Made.promises is not None:
        _Made.promises.drain(seconds)


def _client(settings: Settings) -> Any:
    from playhead.client import Client  # noqa: PLC0415 - an HTTP client is needed only by programs that wait

    return Client(settings.collector, settings.api_key, timeout_seconds=_TIMEOUT_SECONDS)
