"""What libraries log of outages and of the stop, which the collector says in a line, goes without their tracebacks."""

import subprocess
import sys

PROGRAM = """
import asyncio, logging
from playhead_collector.logs import configure_logging

configure_logging("text", "info")

def failed(logger, level, error):
    try:
        raise error
    except BaseException:
        logging.getLogger(logger).log(level, "failed: %s", logger, exc_info=True)

failed("asyncpg.pool", logging.WARNING, ConnectionRefusedError("gone"))
failed("uvicorn.error", logging.ERROR, asyncio.CancelledError("Task cancelled, timeout graceful shutdown exceeded"))
failed("uvicorn.error", logging.ERROR, ValueError("a defect"))
logging.getLogger("uvicorn.error").error("Cancel 1 running task(s), timeout graceful shutdown exceeded")
"""


def test_a_stop_and_an_outage_write_no_tracebacks():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr.count("Traceback") == 1
    assert "ValueError: a defect" in done.stderr
    assert "Cancel 1 running task(s)" in done.stderr
