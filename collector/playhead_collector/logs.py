"""The log of each process of a collector: its format (text or JSON), and lines at a limited rate.

`ThrottledLog` is for lines that strangers can cause: each message at most once per interval, so nobody can fill the
disk.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Callable

import orjson


class JsonLines(logging.Formatter):
    """Formats a log record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns time (seconds since 1970), level, logger, message, and the traceback if there is one."""
        line = {
            "time": record.created,
            "program": "playhead",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def configure_logging(log_format: str, log_level: str) -> None:
    """Sends this process's log to stderr, as lines of `text` or `json`, from level `log_level` on."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s playhead %(levelname)-7s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if log_format == "json" else text)
    logging.basicConfig(level=log_level.upper(), handlers=[handler], force=True)
    # alembic and uvicorn write lines at every start and migration that the collector logs itself. httpx logs the URL of
    # each request, and the path of a webhook may be a key.
    for chatty in ("alembic", "uvicorn", "httpx"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.root.level))
    # A traceback for each try while Postgres is gone, which the collector logs itself.
    logging.getLogger("asyncpg.pool").setLevel(max(logging.ERROR, logging.root.level))
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancelled_request)


def _is_no_cancelled_request(record: logging.LogRecord) -> bool:
    """Requests that do not end are cancelled at the stop. uvicorn says how many, and then logs a traceback for each."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


# Often enough to notice the problem while it lasts, and at most 8,640 lines a day.
PAUSE_SECONDS = 10.0


class ThrottledLog:
    """Writes each message (identified by its template) at most once per `pause_seconds`; the next line says how many
    were left out. Not thread-safe: use it on the event loop only. `clock` gives seconds."""

    def __init__(
        self,
        log: logging.Logger,
        pause_seconds: float = PAUSE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._pause = pause_seconds
        self._clock = clock
        self._next: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def warning(self, template: str, *values: object, exc_info: BaseException | None = None) -> None:
        """Writes a warning. `template` must be a constant, because each template has its own counter."""
        now = self._clock()
        if now < self._next.get(template, now):
            self._left_out[template] = self._left_out.get(template, 0) + 1
            return
        self._next[template] = now + self._pause
        left_out = self._left_out.pop(template, 0)
        more = f" ({left_out} more since the last such line)" if left_out else ""
        self._log.warning(template + "%s", *values, more, exc_info=exc_info)

    def forget(self) -> None:
        """Resets all counters and intervals."""
        self._next.clear()
        self._left_out.clear()
