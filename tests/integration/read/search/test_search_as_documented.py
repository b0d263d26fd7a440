"""The page about search, and its commands, on a collector that a program has recorded to."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from typer.testing import CliRunner

import playhead
from playhead.cli import app
from playhead.client import Client
from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess
from tests.test_docs import code_of

CARD = "4111111111111111"


def without_card(value: Any) -> Any:
    """The value as it may be recorded."""
    return json.loads(json.dumps(value).replace(CARD, "masked"))


@playhead.observe(kind="tool")
def refund_order(order_id: str) -> str:
    return "Error: order is locked" if order_id == "W122" else "refunded"


@playhead.observe
def support(client: openai.OpenAI) -> None:
    """An agent that tries another order after an error."""
    question = f"My parcel is lost: refund W123 to card {CARD}."
    client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": question}])
    refund_order(order_id="W122")
    refund_order(order_id="W123")


@pytest.fixture(scope="module")
def url(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    env = {"PLAYHEAD_SEAL_AFTER_SECONDS": "1", "PLAYHEAD_ADMIN_KEY": ""}
    with CollectorProcess(database_url=module_database_url, env=env) as collector:
        record(collector.url, tmp_path_factory.mktemp("journal"))
        with Client(collector.url) as client:
            deadline = time.monotonic() + 180
            while not list(client.search_decisions(kind="tool_call")):
                assert time.monotonic() < deadline, collector.log()
                time.sleep(0.1)
        yield collector.url


def record(url: str, journal: Path) -> None:
    playhead.configure(endpoint=url, journal_dir=journal, record="always", redact=without_card)
    playhead.instrument("openai")
    try:
        with MockModelServer() as server:
            server.otherwise(text("I refund it."))
            support(openai.OpenAI(base_url=server.base_url, api_key="none"))
        assert playhead.flush(60)
    finally:
        playhead.shutdown()
        playhead.uninstrument("openai")


def test_the_page_s_code_finds_what_was_recorded(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)
    code, scope = code_of("docs/search.md"), dict[str, Any]()
    exec(compile(code["decisions"], "search.md", "exec"), scope)
    assert (scope["decision"]["tool"], scope["decision"]["after"]) == ("refund_order", "error")
    exec(compile(code["texts"], "search.md", "exec"), scope)
    printed = capsys.readouterr().out
    assert scope["decision"]["run"] in printed
    assert "My parcel is lost" in printed


def test_what_was_redacted_is_not_found(url: str):
    with Client(url) as client:
        assert list(client.search_content(CARD)) == []
        assert list(client.search_decisions(value=CARD)) == []
        (found,) = client.search_content("masked", role="user")
    assert found["quotes"][0]["quote"].endswith("to card masked.")


def test_the_commands_print_what_is_found(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str) -> str:
        result = CliRunner().invoke(app, ("search", *args))
        assert result.exit_code == 0, result.output
        return result.stdout

    decisions = call("decisions", "--tool", "refund_order", "--after", "error")
    assert "refund_order(order_id=W123" in decisions
    assert "W122" not in decisions
    (row,) = json.loads(call("decisions", "--argument", "order_id=W122", "--json"))
    assert (row["result"], row["after"]) == ("error", "first")
    (found,) = json.loads(call("texts", '"parcel is lost"', "--role", "user", "--json"))
    assert "My parcel is lost" in call("texts", "lost parcel", "--role", "user")
    assert row["run"] in call("texts", "--ref", found["ref"])
    nothing = CliRunner().invoke(app, ("search", "texts", "zebra"))
    assert "runs are searched once they are sealed" in nothing.stderr
    refused = CliRunner().invoke(app, ("search", "decisions", "--argument", "order_id"))
    assert refused.exit_code == 2
    assert "NAME=VALUE" in refused.output
