"""Every command over a run whose names, values and errors would steer the terminal of whoever looks at it."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app, connection
from playhead.cli.connection import complete_run
from playhead.client import Client
from playhead.errors import BadRequest
from playhead.model import event as ev
from playhead.model.message import text_message
from playhead.model.span import STATUS_ERROR, Span
from tests.support.readers.chat import Chat
from tests.support.readers.fake import EPOCH_NS, RUN, FakeStore
from tests.support.readers.served import app_on, served

OTHER = "0190ffff" * 4
STEERING = "\x1b]0;title\x07 \x9b31m \rOVER \u202eturned \u2067isolated \u202bembedded"
FORBIDDEN = set("\x1b\x07\x9b\r\u202e\u2067\u202b")
COMMANDS = [
    ("runs",), ("show", RUN), ("tree", RUN), ("tree", RUN, "--decisions"), ("events", RUN), ("events", RUN, "--values"),
    ("state", RUN), ("context", RUN), ("messages", RUN), ("tokens", RUN), ("why", RUN, "8"), ("suspects", RUN),
    ("decisions", RUN), ("decisions", RUN, "5"), ("reasoning", RUN, "5"), ("compare", RUN, OTHER), ("diff", RUN),
]  # fmt: skip


def hostile_run(store: FakeStore, run: str, answer: str) -> None:
    story = Chat(store, run=run)
    story.add(ev.StateChanged, "root", key=STEERING, value=store.keep({STEERING: STEERING}))
    asked: Any = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": STEERING, "arguments": {STEERING: STEERING}}],
    }
    first = text_message("user", STEERING)
    story.model_call("a", [], [first], asked, tools=store.keep([{"name": STEERING}]))
    story.tool_call("t", STEERING, {STEERING: STEERING}, {"error": STEERING})
    story.model_call("b", [first, asked], [text_message("user", STEERING)], text_message("assistant", answer))
    story.add(ev.RunFailed, "root", elapsed_ms=1.0, error_type=STEERING, message=STEERING)
    story.done()
    store.rows[run] = replace(store.rows[run], name=STEERING, status="failed")
    failed: dict[str, Any] = {"status": STATUS_ERROR, "status_message": STEERING}
    store.spans_of[run] = [
        Span("t" * 32, "root", None, STEERING, EPOCH_NS, EPOCH_NS + 1, {STEERING: STEERING}, **failed)
    ]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    store = FakeStore()
    hostile_run(store, OTHER, "another")
    hostile_run(store, RUN, STEERING)
    with served(app_on(store)) as url:
        yield url


@pytest.fixture
def playhead(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str, **options: Any) -> Result:
        return CliRunner().invoke(app, args, **options)

    return call


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_command_passes_on_what_steers_a_terminal(command: tuple[str, ...], playhead):
    result = playhead(*command)
    assert result.exit_code == 0, result.output
    assert not FORBIDDEN & set(result.output), result.output


def test_a_run_does_not_write_the_question_whether_it_is_to_be_deleted(playhead):
    result = playhead("delete", RUN, input="n\n")
    assert "OVER" in result.output
    assert not FORBIDDEN & set(result.output)


def test_completion_hands_no_control_characters_to_the_shell(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "_COMPLETION_SECONDS", 60.0)
    options = SimpleNamespace(params={"url": url, "api_key": None})
    context = SimpleNamespace(find_root=lambda: options)
    found = dict(complete_run(context, ""))
    assert "OVER" in "".join(found.values())
    assert not FORBIDDEN & set("".join(found.values()))


def test_errors_repeat_no_control_characters(playhead, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise BadRequest(STEERING)

    monkeypatch.setattr(Client, "run", refuse)
    result = playhead("show", RUN)
    assert "OVER" in result.output
    assert not FORBIDDEN & set(result.output)
