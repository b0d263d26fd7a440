"""Sessions of coding agents, told in log records: Claude Code, Codex, Gemini CLI (captured by tests/senders)."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.lift import belongs_to_session, lift_logs
from playhead.model import names
from playhead.model.event import (
    LlmCompleted,
    LlmFailed,
    MessageAdded,
    RunStarted,
    ToolCalled,
    ToolCompleted,
    ToolFailed,
    event_to_json,
)
from playhead.model.span import LogEvent
from playhead_collector.receive.otlp.decoded import Decoded
from tests.senders.programs import scene
from tests.senders.sent import Sent, sent

BY_SESSION = ("claude_code", "claude_code_prompts", "codex", "gemini_cli", "gemini_cli_traces")
CLAUDE = {"name": "api_request", "scope": "com.anthropic.claude_code.events"}


@pytest.mark.parametrize("name", BY_SESSION)
def test_a_session_is_one_run_with_its_calls_tools_and_tokens(name: str):
    it = sent(name)
    [run] = it.runs()
    started = run.events[0]
    assert isinstance(started, RunStarted)
    assert started.session is not None
    assert it.value(started.input) == scene.QUESTION
    ended = [event for event in run.events if isinstance(event, LlmCompleted)]
    assert len(ended) == len(it.requests) == 3
    assert all(event.usage.input_tokens and event.usage.output_tokens for event in ended)
    [called] = [event for event in run.events if isinstance(event, ToolCalled)]
    assert "cat report.txt" in json.dumps(it.value(called.arguments))
    [gave] = [event for event in run.events if isinstance(event, ToolCompleted)]
    assert name.startswith(("claude", "gemini_cli")) or scene.REPORT in it.value(gave.result)


@pytest.mark.parametrize("name", [*BY_SESSION, "claude_code_traces"])
def test_the_tokens_are_those_that_the_agent_was_told(name: str):
    usage = [event.usage.output_tokens for event in sent(name).events() if isinstance(event, LlmCompleted)]
    assert usage == [usage[0], 8, 7]  # what the mock server says of its three answers
    assert usage[0] in (14, 16, 21)  # of the tool's call, which is another one in each agent


@pytest.mark.parametrize("name", ["claude_code_prompts", "claude_code_traces", "codex"])
def test_prompts_are_messages_where_no_call_has_its_context(name: str):
    it = sent(name)
    said = [
        it.value(event.message) for event in it.events() if isinstance(event, MessageAdded) and event.role == "user"
    ]
    texts = [part["content"] for message in said for part in message["parts"]]
    assert texts == [scene.QUESTION, scene.FOLLOW_UP]


def test_claude_codes_answers_are_messages_without_bodies_too():
    it = sent("claude_code_prompts")
    answers = [it.value(e.message) for e in it.events() if isinstance(e, MessageAdded) and e.role == "assistant"]
    assert [part["content"] for message in answers for part in message["parts"]] == [
        "It rains in Oslo. Marker-answer.",
        "Wear a coat. Marker-last.",
    ]


@pytest.mark.parametrize("name", sorted({*BY_SESSION, "claude_code_traces"}))
def test_records_may_come_in_any_order_one_by_one_and_twice(name: str):
    it = sent(name)
    logs = [*it.logs, *it.logs]
    random.Random(7).shuffle(logs)
    alone = Sent(it.requests, it.spans, it.logs, it.lifted, [one for log in logs for one in lift_logs([log])])
    alone.contents, alone.nodes = it.contents, it.nodes
    before, after = ([list(map(event_to_json, run.events)) for run in each.runs()] for each in (it, alone))
    assert after == before


def test_geminis_records_alone_tell_of_the_same_calls_as_with_its_spans():
    it = sent("gemini_cli")
    alone = Sent(it.requests, [], it.logs, [], it.lifted_logs, it.contents, it.nodes)
    kinds = ("llm_called", "llm_completed", "tool_called", "tool_completed")
    told, with_spans = ([e.kind for e in each.events() if e.kind in kinds] for each in (alone, it))
    assert told == with_spans
    threads = [[call.thread for call in each.calls()] for each in (alone, it)]
    assert threads[0] == threads[1]


def record(attributes: dict[str, Any], **fields: Any) -> LogEvent:
    """A record of Claude Code's, without a trace."""
    given = {**CLAUDE, **fields}
    return LogEvent(
        time_ns=5_000_000_000, trace_id=None, span_id=None, attributes={"session.id": "s", **attributes}, **given
    )


def events(*logs: LogEvent) -> list[Any]:
    return Sent([], [], list(logs), [], lift_logs(logs)).events()


def test_requests_that_fail_are_failed_calls():
    error = {"error": "Overloaded", "status_code": "529", "model": "claude", "duration_ms": "12", "attempt": 1}
    [failed] = [event for event in events(record(error, name="api_error")) if isinstance(event, LlmFailed)]
    assert (failed.error_type, failed.elapsed_ms, failed.model) == ("529", 12, "claude")
    answered = {"event.name": "codex.api_request", "http.response.status_code": 500, "duration_ms": "3"}
    codex = record({"conversation.id": "c", **answered}, name="event x.rs:1", scope="codex_otel.log_only")
    [failed] = [event for event in events(codex) if isinstance(event, LlmFailed)]
    assert failed.error_type == "500"


def test_tools_that_fail_are_failed_tools():
    said = {"tool_name": "Bash", "tool_use_id": "t", "success": "false", "error": "exit 1", "duration_ms": 4}
    [failed] = [event for event in events(record(said, name="tool_result")) if isinstance(event, ToolFailed)]
    assert (failed.name, failed.call_id) == ("Bash", "t")


def test_only_records_that_tell_a_part_of_a_session_belong_to_one_without_a_trace():
    decoded = Decoded()
    for log in (
        record({}),
        record({}, name="plugin_loaded"),
        record({}, scope="theirs"),
        replace(record({}), attributes={}),
    ):
        decoded.add_log(log)
    assert (len(decoded.logs), decoded.ignored) == (1, 3)


ODD = st.sampled_from([
    None, True, 7, -1, 10**30, 0.5, float("nan"), "", "7", "{", "[]", "\x00", "\ud800", [], [1], ["a"], {}, {"a": {}},
    '[{"candidates":[{"content":7}]}]', '{"messages":[{"role":7}]}', b"\xff",
])  # fmt: skip
PARTS = (
    "user_prompt", "api_request", "api_request_body", "api_response_body", "assistant_response", "api_error",
    "tool_result", "api_response", "tool_call", "sse_event", "other",
)  # fmt: skip
KEYS = (
    "event.name", "conversation.id", "prompt", "body", "response", "request_id", "request_body_id", "tool_input",
    "output", "duration_ms", "input_tokens", "input_token_count", "success", "error", "model", "tool_use_id",
    "response_text", "request_text", "function_args", "http.response.status_code", "finish_reasons",
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(PARTS), st.dictionaries(st.sampled_from(KEYS), ODD, max_size=6)), max_size=5))
def test_whatever_the_records_hold_nothing_raises(said: list[tuple[str, dict[str, Any]]]):
    scopes = ("com.anthropic.claude_code.events", "codex_otel.log_only", "gemini-cli")
    for scope in scopes:
        logs = [record(attributes, name=name, scope=scope) for name, attributes in said]
        assert all(isinstance(belongs_to_session(log.name, log.attributes, log.scope), bool) for log in logs)
        lifted = lift_logs(logs)
        told = Sent([], [], logs, [], lifted)
        for one in lifted:
            told.contents |= {content.ref: content for content in one.contents}
        assert len(lifted) == len(logs)
        assert all(run.events for run in told.runs())


def test_a_session_is_named_by_its_agent_and_id_alone():
    [one] = lift_logs([record({"request_id": "r", "model": "m"})])
    [other] = lift_logs([record({"request_id": "q", "model": "n"})])
    assert one.log.trace_id == other.log.trace_id is not None
    assert one.log.attributes[names.SESSION_RUN] is True
    with_trace = lift_logs([replace(record({"request_id": "r"}), trace_id="a" * 32)])[0].log
    assert with_trace.trace_id == "a" * 32
    assert names.SESSION_RUN not in with_trace.attributes
