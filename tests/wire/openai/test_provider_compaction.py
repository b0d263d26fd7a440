"""What a provider does to a context by itself, as our own instrumentations of the real clients record it.

The mock model server does not compress, so a server here gives the answers that the providers document."""

import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

import playhead
from playhead.local.client import JournalClient
from playhead.model import names
from playhead.model.event import ContextCompressed, LlmCalled, LlmCompleted, MessageAdded, TokenUsage
from playhead.model.models import BY_NAME
from tests.support.journal_reader import Recording, start_recording
from tests.support.projected import projected

EDITED = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
    "stop_sequence": None, "content": [{"type": "text", "text": "done"}],
    "usage": {"input_tokens": 90, "output_tokens": 2},
    "context_management": {
        "applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 500}]
    },
}  # fmt: skip
COMPACTED: dict[str, Any] = {
    "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "tools": [],
    "parallel_tool_calls": True, "tool_choice": "auto",
    "output": [
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "AAAA"},
        {
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "done", "annotations": []}],
        },
    ],
    "usage": {
        "input_tokens": 900, "output_tokens": 2, "total_tokens": 902,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
    },
}  # fmt: skip
NOTHING_CACHED = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
SUMMED_UP: dict[str, Any] = {
    **EDITED,
    "content": [
        {"type": "compaction", "content": "The user said hello, and asked six questions."},
        {"type": "text", "text": "done"},
    ],
    "context_management": None,
}
HELLO: list[Any] = [{"role": "user", "content": "hello"}]


class Provider(BaseHTTPRequestHandler):
    """Answers every request with what its path asks for."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_anthropic = self.path.startswith("/v1/messages")
        events = stream_of_edited() if is_anthropic else stream_of_compacted()
        if is_anthropic and "context_management" in asked:
            events = stream_of_summed_up()
        if self.path.endswith("/responses/compact"):
            kind, body = "application/json", json.dumps(compaction_of(asked["input"]))
        elif asked.get("stream"):
            kind = "text/event-stream"
            body = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
        else:
            edited = SUMMED_UP if "context_management" in asked else EDITED
            plain = {**COMPACTED, "id": "resp_3", "output": COMPACTED["output"][1:]}
            is_after = any(item.get("type") == "compaction" for item in asked.get("input", ()))
            answer = plain if is_after else COMPACTED
            kind, body = "application/json", json.dumps(edited if is_anthropic else answer)
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def compaction_of(items: list[Any]) -> dict[str, Any]:
    """The user's messages as they were, and one item for all others."""
    users = [
        {
            "type": "message", "id": f"msg_{place}", "role": "user", "status": "completed",
            "content": [{"type": "input_text", "text": item["content"]}],
        }
        for place, item in enumerate(items) if item.get("role") == "user"
    ]  # fmt: skip
    return {
        "id": "resp_2", "object": "response.compaction", "created_at": 1,
        "output": [*users, {"type": "compaction", "id": "cmp_2", "encrypted_content": "BBBB"}],
        "usage": {
            "input_tokens": 5_000, "output_tokens": 700, "total_tokens": 5_700,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 300},
        },
    }  # fmt: skip


def stream_of_edited() -> list[dict[str, Any]]:
    start = {**EDITED, "content": [], "stop_reason": None}
    del start["context_management"]
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 2}, "context_management": EDITED["context_management"],
        },
        {"type": "message_stop"},
    ]  # fmt: skip


def stream_of_summed_up() -> list[dict[str, Any]]:
    start, *_, end, stop = stream_of_edited()
    summary, said = SUMMED_UP["content"]
    # The counts at the top leave out what the summary took.
    usage = {
        "input_tokens": 90, "output_tokens": 2,
        "iterations": [
            {"type": "compaction", "input_tokens": 400, "output_tokens": 30, **NOTHING_CACHED},
            {"type": "message", "input_tokens": 90, "output_tokens": 2, **NOTHING_CACHED},
        ],
    }  # fmt: skip
    return [
        start,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}},
        {"type": "content_block_delta", "index": 0, "delta": {**summary, "type": "compaction_delta"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": said["text"]}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": end["delta"], "usage": usage},
        stop,
    ]


def stream_of_compacted() -> list[dict[str, Any]]:
    created = {**COMPACTED, "status": "in_progress", "output": []}
    output: Any = COMPACTED["output"]
    done = [
        {"type": "response.output_item.done", "output_index": place, "sequence_number": place + 1, "item": item}
        for place, item in enumerate(output)
    ]
    return [
        {"type": "response.created", "sequence_number": 0, "response": created},
        *done,
        {"type": "response.completed", "sequence_number": 9, "response": COMPACTED},
    ]


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "anthropic")
        yield recording
        playhead.uninstrument("openai", "anthropic")


@pytest.mark.parametrize("stream", [False, True])
def test_anthropics_context_editing_is_a_compression_of_the_call(stream: bool, url: str, recording: Recording):
    with playhead.run("clerk") as run, anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        answer: Any = client.beta.messages.create(model="m", max_tokens=9, messages=HELLO, stream=stream)
        if stream:
            list(answer)
    events = projected(recording.read(), str(run.id)).events
    [compressed] = [event for event in events if isinstance(event, ContextCompressed)]
    assert (compressed.origin, compressed.strategy) == ("provider", "clear_tool_uses_20250919")
    assert (compressed.tokens_before, compressed.tokens_after) == (590, 90)


@pytest.mark.parametrize("is_dropped", [False, True])
def test_anthropics_own_summary_is_a_compression_of_the_call(is_dropped: bool, url: str, recording: Recording):
    edits: Any = {"edits": [{"type": "compact_20260112"}]}
    messages: list[Any] = [{"role": "user", "content": f"question {n}"} for n in range(6)]
    with playhead.run("clerk") as run, anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        for _ in range(2):
            client.beta.messages.create(
                model="m", max_tokens=9, messages=messages, extra_body={"context_management": edits}
            )
            messages += [
                {"role": "assistant", "content": SUMMED_UP["content"]},
                {"role": "user", "content": "and now?"},
            ]
            messages = messages[6:] if is_dropped else messages
            edits = {"edits": []}
    events = projected(recording.read(), str(run.id)).events
    first, *_ = [event for event in events if isinstance(event, ContextCompressed)]
    assert (first.origin, first.strategy, len(first.summarised)) == ("provider", "summary", 6)
    assert first.tokens_after == 90
    ends = [event.seq for event in events if isinstance(event, LlmCompleted)]
    cuts = [event for event in events if isinstance(event, ContextCompressed) and event.origin == "inferred"]
    assert (ends[0] < first.seq < ends[1], cuts) == (True, [])


def test_anthropics_own_summary_in_a_stream_is_recorded_with_its_usage(url: str, recording: Recording):
    edits: Any = {"edits": [{"type": "compact_20260112"}]}
    messages: Any = [{"role": "user", "content": f"question {n}"} for n in range(6)]
    with playhead.run("clerk") as run, anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        stream = client.beta.messages.create(
            model="claude-opus-4-6", max_tokens=9, messages=messages, stream=True,
            extra_body={"context_management": edits},
        )  # fmt: skip
        list(stream)
    events = projected(recording.read(), str(run.id)).events
    [compressed] = [event for event in events if isinstance(event, ContextCompressed)]
    [end] = [event for event in events if isinstance(event, LlmCompleted)]
    assert (compressed.origin, len(compressed.summarised), compressed.summariser) == ("provider", 6, end.span)
    assert (compressed.tokens_before, compressed.tokens_after) == (None, 90)
    assert end.usage == TokenUsage(90, 2, compaction_input_tokens=400, compaction_output_tokens=30)
    with JournalClient(recording.folder, pytest.fail) as journal:
        answer = journal.tokens(str(run.id))
    totals = answer["totals"]
    assert totals["cost"] == BY_NAME["claude-opus-4-6"].cost(TokenUsage(490, 32))
    assert (totals["compressed"]["summary_input_tokens"], totals["compressed"]["summary_output_tokens"]) == (400, 30)


@pytest.mark.parametrize("stream", [False, True])
def test_a_cut_behind_an_item_of_openais_compaction_is_the_providers(stream: bool, url: str, recording: Recording):
    with playhead.run("clerk") as run, openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        history: Any = [{"role": "user", "content": f"question {n}"} for n in range(6)]
        answer: Any = client.responses.create(model="m", input=history, stream=stream)
        if stream:
            list(answer)
        output: Any = COMPACTED["output"]
        client.responses.create(model="m", input=[*output, {"role": "user", "content": "and now?"}])
    seen = recording.read()
    first, _ = [span for span in seen.spans if names.INPUT_MESSAGES_REF in span.attributes]
    assert first.attributes[names.COMPACTED] is True
    [compressed] = [event for event in projected(seen, str(run.id)).events if isinstance(event, ContextCompressed)]
    assert (compressed.origin, compressed.span) == ("provider", first.span_id)
    assert len(compressed.dropped) + len(compressed.summarised) == 6


@pytest.mark.parametrize("stream", [False, True])
def test_openais_item_of_compaction_is_reported_at_the_answer_that_has_it(stream: bool, url: str, recording: Recording):
    """The model sees what follows the item, whether the program goes on sending what is before it or not."""
    with playhead.run("clerk") as run, openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        history: Any = [{"role": "user", "content": f"question {n}"} for n in range(6)]
        managed: Any = [{"type": "compaction", "compact_threshold": 1_000}]
        answer: Any = client.responses.create(model="m", input=history, stream=stream, context_management=managed)
        if stream:
            list(answer)
    events = projected(recording.read(), str(run.id)).events
    [compressed] = [event for event in events if isinstance(event, ContextCompressed)]
    [end] = [event for event in events if isinstance(event, LlmCompleted)]
    assert (compressed.origin, len(compressed.summarised), compressed.span) == ("provider", 6, end.span)
    assert (compressed.tokens_before, compressed.tokens_after, end.usage.input_tokens) == (900, None, 900)


def long_chat() -> list[Any]:
    turns = [("user", "question"), ("assistant", "answer")]
    return [{"role": role, "content": f"{word} {number}"} for number in range(6) for role, word in turns]


def chat_that_compacts(url: str, run_id: str | None = None) -> tuple[str, list[Any]]:
    """Asks, compacts, and asks again with what came of it."""
    with (
        playhead.resume(run_id) if run_id else nullcontext(),
        playhead.run("clerk") as run,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        shorter = client.responses.compact(model="gpt-5", input=long_chat())
        # The client's types do not allow for a user's message in an answer, and it warns of it.
        items = [item.model_dump(exclude_unset=True, warnings=False) for item in shorter.output]
        asked: Any = [*items, {"role": "user", "content": "and now?"}]
        client.responses.create(model="gpt-5", input=asked)
        return str(run.id), asked


def test_a_compaction_that_the_program_asks_for_is_a_model_call_and_a_compression(url: str, recording: Recording):
    run, _ = chat_that_compacts(url)
    seen = projected(recording.read(), run)
    [compressed] = [event for event in seen.events if isinstance(event, ContextCompressed)]
    compaction, last = [event for event in seen.events if isinstance(event, LlmCompleted)]
    assert (compressed.origin, compressed.strategy) == ("provider", "summary")
    assert (compressed.span, compressed.summariser) == (compaction.span, compaction.span)
    assert compaction.seq < compressed.seq < last.seq
    assert len(compressed.summarised) == 6  # the answers; the user's messages stay
    assert (compressed.tokens_before, compressed.tokens_after) == (5_000, None)
    assert (compaction.usage.input_tokens, compaction.usage.output_tokens) == (5_000, 700)
    [call, _] = [event for event in seen.events if isinstance(event, LlmCalled)]
    assert (call.operation, call.model) == ("compact", "gpt-5")
    added = [(event.role, event.source) for event in seen.events if isinstance(event, MessageAdded)]
    assert added[12:] == [("assistant", "output"), ("user", "input"), ("assistant", "output")]


def test_its_tokens_cost_what_the_model_costs(url: str, recording: Recording):
    run, _ = chat_that_compacts(url)
    with JournalClient(recording.folder, pytest.fail) as journal:
        totals = journal.tokens(run)["totals"]
        [row] = journal.compressions(run)
    price = BY_NAME["gpt-5"]
    assert totals["cost"] == price.cost(TokenUsage(5_000 + 900, 700 + 2))
    assert row["tokens"] == {"before": 5_000, "after": 900, "saved": 4_100, "basis": "reported"}
    assert row["origin"] == "provider"


def test_an_encrypted_summary_is_said_to_be_one(url: str, recording: Recording):
    run, _ = chat_that_compacts(url)
    with JournalClient(recording.folder, pytest.fail) as journal:
        [row] = journal.compressions(run)
        audit = journal.compression(run, row["seq"])
    assert (audit["rule"], audit["messages"]["kept"], audit["messages"]["summarised"]) == ("encrypted", 6, 6)
    assert "encrypted" in audit["reason"]


def test_a_resumed_run_gets_the_recorded_compaction(url: str, recording: Recording):
    run, asked = chat_that_compacts(url)
    again, answered = chat_that_compacts("http://127.0.0.1:9", run)  # nobody answers there
    assert (again, answered) == (run, asked)


async def test_the_asynchronous_client_is_recorded_the_same(url: str, recording: Recording):
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        with playhead.run("clerk") as run:
            raw = await client.responses.with_raw_response.compact(model="gpt-5", input=long_chat())
            assert raw.parse().output[-1].type == "compaction"
    events = projected(recording.read(), str(run.id)).events
    assert [event.usage.input_tokens for event in events if isinstance(event, LlmCompleted)] == [5_000]
