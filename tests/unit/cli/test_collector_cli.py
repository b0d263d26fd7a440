"""What `playhead serve` says, and where it listens."""

import json
import logging
import socket
import sys
from pathlib import Path

import pytest

from playhead_collector import cli
from playhead_collector.cli import Addresses, announce, listen, main, url_of, warn_if_unprotected
from playhead_collector.logs import JsonLines
from playhead_collector.settings import CollectorSettings

SETTINGS = CollectorSettings(data_dir=Path("/data/playhead"))
ADDRESSES = Addresses("http://127.0.0.1:4318", "http://127.0.0.1:4317")


def test_a_human_reads_where_everything_is(capsys: pytest.CaptureFixture[str]):
    announce(SETTINGS, "postgresql://postgres@/postgres", ADDRESSES, as_json=False)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith("is listening. Stop it with Ctrl-C.")
    assert lines == [
        "  collector  http://127.0.0.1:4318",
        "  grpc       http://127.0.0.1:4317",
        "  docs       http://127.0.0.1:4318/api/v1/docs",
        "  data       /data/playhead",
        "  database   postgresql://postgres@/postgres",
    ]


def test_a_program_reads_one_line_of_json(capsys: pytest.CaptureFixture[str]):
    settings = CollectorSettings(database_url="postgresql://me:secret@db/playhead")
    announce(settings, "postgresql://me:***@db/playhead", Addresses("http://127.0.0.1:4318", None), as_json=True)
    [line] = capsys.readouterr().out.splitlines()
    said = json.loads(line)
    assert said["collector"] == "http://127.0.0.1:4318"
    assert said["data"] is said["grpc"] is None
    assert "secret" not in line


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:"), ("localhost", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:")],
)
def test_the_address_is_one_that_a_client_can_use(host: str, url: str):
    with listen(host, 0) as listener:
        port = listener.getsockname()[1]
        assert port > 0
        assert url_of(listener) == f"{url}{port}"
        with socket.create_connection(("127.0.0.1", port)):
            pass


@pytest.mark.parametrize(
    ("host", "key", "warned"), [("127.0.0.1", None, False), ("0.0.0.0", None, True), ("0.0.0.0", "k", False)]
)
def test_a_network_without_a_key_is_warned_of(
    host: str, key: str | None, warned: bool, caplog: pytest.LogCaptureFixture
):
    with listen(host, 0) as listener:
        warn_if_unprotected(listener, needs_key=key is not None)
        assert ("set PLAYHEAD_ADMIN_KEY" in caplog.text) is warned


def test_a_log_line_may_be_json():
    try:
        raise ValueError("no")
    except ValueError:
        record = logging.LogRecord("a", logging.WARNING, "", 0, "%s went", ("it",), sys.exc_info())
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["logger"], line["message"]) == ("warning", "a", "it went")
    assert "ValueError: no" in line["traceback"]


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["--port", "1"], 2)])
def test_the_module_prints_its_help_or_refuses_arguments_without_starting_a_collector(
    arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(cli, "serve", lambda **_: pytest.fail("a collector was started"))
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capsys.readouterr()
    assert (ended.value.code, "usage: python -m playhead_collector.cli" in printed.out + printed.err) == (code, True)


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_the_module_serves(arguments: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cli, "serve", lambda *, as_json: 7 if as_json == bool(arguments) else 1)
    assert main(arguments) == 7
