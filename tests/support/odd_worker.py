"""The worker program with questions that misbehave, for tests of what is done about them.  Needs no database."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from playhead_collector.errors import ContentMissing, Refused, StoreUnavailable
from playhead_collector.workers import worker
from playhead_collector.workers.questions import AnalysisQuestion


async def _answer(store: Any, given: Any, question: AnalysisQuestion, index: object = None) -> bytes:
    options = question.options
    if "begun" in options:
        Path(options["begun"]).write_text(str(os.getpid()))
    match question.name:
        case "echo":
            sys.stdout.write("a library that prints\n")
            sys.stdout.flush()
            return f"{os.getpid()} {options.get('text', '')}".encode("utf-8", "backslashreplace")
        case "sleep":
            await asyncio.sleep(options["seconds"])
            return b"slept"
        case "hold":  # the interpreter: no other thread runs meanwhile
            re.fullmatch("(a*)*b", "a" * 40)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "grow":
            return b"%d" % len(bytearray(options["bytes"]))
        case "long":
            return b"x" * options["bytes"]
        case "raise":
            raise {
                "refused": Refused(418, "teapot", "short and stout", {"X-Tea": "green"}),
                "unavailable": StoreUnavailable("no database"),
                "missing": ContentMissing("no content"),
                "bug": ZeroDivisionError("what a bug says \ud800"),
            }[options["what"]]
        case _:
            pass
    return b"null"


async def _connect(dsn: str, **_: Any) -> Any:
    return SimpleNamespace(search=None)


if __name__ == "__main__":
    worker.answer = _answer
    worker.connect = _connect
    worker.ALARM_MARGIN_SECONDS = 0.0
    worker.serve_questions(worker.answering)
