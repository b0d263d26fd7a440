"""Recorded text with escape sequences and scripts, shown by every command on a terminal: nothing of it is executed.

Reading commands run on a pseudo-terminal. What they write may hold colours of ours, and nothing else that a terminal
obeys: no title, no clipboard, no cursor that moves, no link.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from playhead.client import Client
from playhead_collector.process import CollectorProcess
from tests.soak.conditions import Conditions, environment, run_program
from tests.support.bar import Row, at_least, at_most

HOSTILE = (
    "\x1b]0;owned\x07 \x1b]52;c;ZXZpbA==\x07 \x1b[2J\x1b[H \x1b[?1049h \x1b]8;;http://evil.example\x07here\x1b]8;;\x07 "
    "\x9b31m \x1bP1$r\x1b\\ \r\b\b <script>alert(1)</script> <img src=x onerror=alert(1)> \u202egnp.exe \x00 \x7f"
)
PROGRAM = f"""
import playhead
from playhead import observe
TEXT = {HOSTILE!r}

@observe(name=TEXT)
def agent(task):
    playhead.annotate(decision=TEXT, reason=TEXT, alternatives=[TEXT])
    playhead.event("named", {{"text": TEXT}})
    playhead.score("quality", 0.5)
    playhead.checkpoint(state={{TEXT: TEXT}})
    try:
        tool(TEXT)
    except ValueError:
        pass
    return TEXT

@observe(kind="tool", name=TEXT)
def tool(text):
    raise ValueError(TEXT)

with playhead.run(TEXT, session=TEXT, user=TEXT, tags=[TEXT], metadata={{TEXT: TEXT}}):
    agent(TEXT)
assert playhead.flush(timeout=60)
"""
# Colours, and what erases to the end of a line.
_OURS = re.compile(r"\x1b\[[0-9;]*[mK]")
_OBEYED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COMMANDS = (
    "runs", "show RUN", "tree RUN", "tree RUN --decisions", "events RUN", "state RUN", "messages RUN", "tokens RUN",
    "content REF", "why RUN", "suspects RUN", "decisions RUN", "compressions RUN", "diff RUN --from 1 --to 5",
    "compare RUN RUN", "search texts owned", "search decisions", "scores", "checkpoints RUN", "watch RUN", "promises",
    "across statistics", "across failures", "storage", "doctor", "keys list",
)  # fmt: skip


def measure(_conditions: Conditions) -> Iterator[Row]:
    """Commands whose output a terminal would obey, online and from the journal."""
    with tempfile.TemporaryDirectory() as folder, CollectorProcess() as collector:
        env = environment(Path(folder), collector.url, PLAYHEAD_COLLECTOR_URL=collector.url)
        done = run_program(PROGRAM, env)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        names = _names(collector)
        shown = [
            (f"{command}{local}", _on_terminal(f"{command}{local}", names, env))
            for command in COMMANDS
            for local in ("", " --local")
        ]
        pages = _scripts_in_pages(collector, names)
    obeyed = [
        f"{command}: {found.group()!r}" for command, text in shown if (found := _OBEYED.search(_OURS.sub("", text)))
    ]
    said = sum("owned" in text for _, text in shown)
    yield at_most(
        "terminal", "commands whose output is obeyed", len(obeyed), 0, unit="", against="; ".join(obeyed)[:300]
    )
    yield at_least("terminal", "commands that showed the text", said, 10, unit="", against=f"{len(shown)} commands")
    yield at_most("terminal", "answers that a browser would execute", len(pages), 0, unit="", against=", ".join(pages))


def _names(collector: CollectorProcess) -> dict[str, str]:
    with Client(collector.url) as client:
        run = next(iter(client.runs()))["run"]
        refs = [ref for event in client.events(run) for ref in event["refs"].values()]
    return {"RUN": run, "REF": refs[0]}


def _on_terminal(command: str, names: Mapping[str, str], env: Mapping[str, str]) -> str:
    """What a command writes to a terminal."""
    words = [names.get(word, word) for word in command.split()]
    main, sub = pty.openpty()
    try:
        with subprocess.Popen(
            [sys.executable, "-m", "playhead", *words], stdin=sub, stdout=sub, stderr=sub,
            env={**env, "TERM": "xterm-256color", "COLUMNS": "200"},
        ) as process:  # fmt: skip
            os.close(sub)
            written = bytearray()
            try:
                while data := os.read(main, 65_536):
                    written += data
            except OSError:  # the terminal's other end is closed
                pass
            process.wait(timeout=120)
    finally:
        os.close(main)
    return written.decode("utf-8", "replace").replace("\r\n", "\n")


def _scripts_in_pages(collector: CollectorProcess, names: Mapping[str, str]) -> list[str]:
    """Contents of the run that are served in a way in which a browser executes them."""
    import httpx

    bad: list[str] = []
    with Client(collector.url) as client, httpx.Client(base_url=collector.url, trust_env=False) as http:
        refs = {ref for event in client.events(names["RUN"]) for ref in event["refs"].values()}
        for ref in refs:
            headers = http.get(f"/api/v1/content/{ref}").headers
            kind = headers.get("content-type", "")
            is_closed = "sandbox" in headers.get("content-security-policy", "")
            if ("html" in kind or "svg" in kind or "xml" in kind) and not is_closed:
                bad.append(ref)
            if headers.get("x-content-type-options") != "nosniff":
                bad.append(f"{ref} (sniffed)")
    return bad
