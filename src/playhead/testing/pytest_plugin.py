"""pytest → [pytest_plugin] → server, recorder.  Fixtures for tests of agents.

pytest imports this module in every session, so it imports nothing of Playhead until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playhead.testing import MockModelServer
    from playhead.testing.recorder import RunRecorder

_RECORDER = "playhead_recorder"


@pytest.fixture
def mock_model_server() -> Iterator[MockModelServer]:
    """A running `playhead.testing.MockModelServer`, closed after the test."""
    from playhead.testing import MockModelServer  # noqa: PLC0415 - every pytest session imports this file

    with MockModelServer() as server:
        yield server


@pytest.fixture
def mock_model(mock_model_server: MockModelServer, monkeypatch: pytest.MonkeyPatch) -> MockModelServer:
    """`mock_model_server`, with the environment set so that the clients of all providers ask it instead of theirs.

    A client that the program gives a base URL of its own is given that one.
    """
    for name, value in client_environment(mock_model_server.url).items():
        monkeypatch.setenv(name, value)
    return mock_model_server


@pytest.fixture
def playhead_recorder(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunRecorder]:
    """Records what the test does in memory: `run = playhead_recorder.last`.  No file, no socket, no collector.

    `playhead_recorder.approve`, `deny` and `answer` say what people answer; a program that waits for anything else
    fails the test.  The transcript of each run joins the report of a test that fails.
    """
    from playhead.testing.recorder import record_in_memory  # noqa: PLC0415

    # A journal of its own: the test must not continue runs that the user of this machine has recorded.
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path_factory.mktemp("playhead")))
    with record_in_memory(pytest.fail) as recorder:
        yield recorder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Adds the recorded runs to the report of a failed test. Fails a test whose program waited for an answer that the
    test did not give, also if the program has caught the exception."""
    report = yield
    recorder: RunRecorder | None = getattr(item, "funcargs", {}).get(_RECORDER)
    if recorder is not None and report.when == "call" and report.passed and recorder.unanswered:
        report.outcome, report.longrepr = "failed", "\n".join(recorder.unanswered)
    if recorder is not None and report.when == "call" and report.failed:
        report.sections += [(f"Recorded run {run.id}", str(run)) for run in recorder.runs]
    return report


_ANY_KEY = "none"


def client_environment(url: str) -> dict[str, str]:
    """Returns variables that make the clients of OpenAI, Anthropic, Groq, Together, Google and AWS Bedrock use the
    server at this URL."""
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": _ANY_KEY,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": _ANY_KEY,
        "GROQ_BASE_URL": url,
        "GROQ_API_KEY": _ANY_KEY,
        "TOGETHER_BASE_URL": url,
        "TOGETHER_API_KEY": _ANY_KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": _ANY_KEY,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
        "AWS_ACCESS_KEY_ID": _ANY_KEY,
        "AWS_SECRET_ACCESS_KEY": _ANY_KEY,
        "AWS_DEFAULT_REGION": "us-east-1",
        # The server is on this machine: no proxy.
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
