"""Formats log lines as text or JSON, for each process of a collector."""

import logging
import sys

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
