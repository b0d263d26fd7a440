"""LangSmith's SDK with only its endpoint changed sends its own format: its error names the variable to set."""

import logging

import pytest
from langsmith import Client, traceable, tracing_context

from playhead_collector.process import CollectorProcess


@pytest.mark.parametrize("batches", [True, False], ids=["multipart", "each run"])
def test_the_sdk_logs_which_variable_has_to_be_set(
    collector: CollectorProcess, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, batches: bool
):
    monkeypatch.delenv("LANGSMITH_TRACING_MODE", raising=False)
    with caplog.at_level(logging.WARNING, "langsmith"):
        client = Client(api_url=collector.url, api_key="none", auto_batch_tracing=batches)

        @traceable(client=client)
        def double(number: int) -> int:
            return 2 * number

        with tracing_context(enabled=True):  # the SDK reads LANGSMITH_TRACING once in a process
            assert double(4) == 8
        client.flush()
        client.close()
    assert "LANGSMITH_TRACING_MODE=otel" in caplog.text
