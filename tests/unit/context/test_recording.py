"""What a managed context leaves in the record of a run: the compression as it was, and tags of messages."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

import playhead
from playhead.context import (
    Chain,
    ClearToolResults,
    Compression,
    Context,
    Keep,
    LlmSummary,
    SlidingWindow,
    Strategy,
)
from playhead.local.client import JournalClient
from playhead.models import AnthropicModel, MockModel, OpenAIModel
from playhead.models.apis import ApiName
from playhead.testing import MockModelServer, contains
from playhead.testing import text as says
from tests.support.journal_reader import Recording
from tests.support.managed_contexts import APIS, play

FACT = "My booking is HAT-4711."
SUMMARY = "The user asked for a refund of a flight, and nobody has answered yet."


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    server = MockModelServer(models=("mock-model",))
    server.when(
        contains("Summarise the conversation"),
        says("The user asked for a refund of a flight, and nobody has answered yet."),
    )
    server.otherwise(says("Noted."))
    yield server
    playhead.uninstrument()


@pytest.fixture
def asked(recording: Recording) -> Callable[[], JournalClient]:
    def client() -> JournalClient:
        playhead.flush()
        return JournalClient(recording.folder, pytest.fail)

    return client


def chat(server: MockModelServer, context: Context, client: Any, turns: int) -> None:
    for turn in range(turns):
        context.add("user", f"{FACT if turn == 0 else 'And?'} {'word ' * 40}", tags=["booking"] if turn == 0 else [])
        context.answered(client.chat.completions.create(model="mock-model", messages=context.for_model()))


def test_a_compression_is_declared_with_all_that_is_known_of_it(
    server: MockModelServer, asked: Callable[[], JournalClient]
):
    playhead.instrument("openai")
    client = openai.OpenAI(api_key="k", base_url="http://mock/v1", http_client=server.http_client())
    policy = Compression(
        limit=1_000, keep=Keep(messages=3), strategy=LlmSummary(model=OpenAIModel("mock-model", client=client))
    )
    with playhead.run("support") as run:
        context = Context(system="Be brief.", compression=policy)
        context.add("user", "Never book without asking.", preserve=True, tags=["instruction"])
        chat(server, context, client, 5)
        context.compress(note="subtask done")
        chat(server, context, client, 1)
    with asked() as journal:
        [listed] = journal.compressions(run.id or "")
        audit = journal.compression(run.id or "", str(listed["seq"]))
        events = list(journal.events(run.id or ""))
        policy_content = journal.content(audit["refs"]["policy"])
    assert (listed["origin"], listed["strategy"], listed["trigger"]) == ("declared", "summary", "manual")
    assert (listed["note"], listed["fallback"], listed["preserved_messages"]) == ("subtask done", None, 1)
    assert listed["tokens"]["basis"] == "reported"
    assert listed["summariser"] is not None
    # before: system, the preserved one, five turns of two; kept: system, the preserved one, the newest three
    assert listed["messages"] == {"before": 12, "after": 6, "kept": 5, "moved": 0, "summarised": 7, "dropped": 0}
    [preserved] = [message for message in audit["kept"] if message["preserved"]]
    assert preserved["tags"] == ["instruction"]
    assert audit["summarised"][0]["tags"] == ["booking"]
    assert "HAT-4711" in [fact["text"] for fact in audit["lost"]]
    assert '"keep":"Keep(share=None, messages=3, tokens=None)"' in str(policy_content)
    [step] = [event for event in events if event["kind"] == "step_started"]
    assert step["data"]["name"] == "compress"
    added = [event["data"] for event in events if event["kind"] == "message_added" and event["data"].get("tags")]
    assert [(data["tags"], data.get("preserved")) for data in added] == [(["instruction"], True), (["booking"], None)]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "strategy",
    [
        LlmSummary(model=MockModel("A refund was asked for.")),
        SlidingWindow(3),
        ClearToolResults(keep=1),
        Chain(ClearToolResults(keep=1), LlmSummary(model=MockModel("A refund was asked for.")), SlidingWindow(2)),
    ],
    ids=["summary", "window", "clear", "chain"],
)
@pytest.mark.parametrize("summary_in", ["message", "system"])
def test_the_outcomes_of_all_messages_are_recorded_for_each_api(
    api: ApiName, strategy: Strategy, summary_in: Any, asked: Callable[[], JournalClient]
):
    steps: Any = [("user", FACT + " word" * 30)]
    steps += [("calls", [(f"q{number}", f"result {number} " * 30)]) for number in range(4)]
    steps += [("assistant", "done " * 30), ("user", "and now?")]
    policy = Compression(limit=300, keep=Keep(messages=3), strategy=strategy, summary_in=summary_in)
    with playhead.run("agent") as run:
        context = Context(system="Be brief.", compression=policy, api=api)
        play(context, steps, api)
        report = context.compress()
    assert report.changed
    with asked() as journal:
        [listed] = journal.compressions(run.id or "")
        audit = journal.compression(run.id or "", str(listed["seq"]))
    assert audit["missing"] == []
    counts = audit["messages"]
    in_system = summary_in == "system" and report.summarised and api in ("anthropic", "gemini")
    assert counts["summarised"] == report.summarised
    # In these APIs, a summary in the system prompt makes another first message of it.
    assert counts["dropped"] == report.dropped + report.masked
    assert counts["kept"] + counts["dropped"] + counts["summarised"] == report.messages_before
    assert counts["after"] == report.messages_after - (1 if in_system else 0)


def test_a_model_without_an_instrumented_client_is_recorded_once(asked: Callable[[], JournalClient]):
    policy = Compression(limit=500, strategy=LlmSummary(model=MockModel(SUMMARY)), keep=Keep(messages=2))
    with playhead.run("agent") as run:
        context = Context(compression=policy)
        play(context, [("user", "word " * 50), ("assistant", "word " * 50), ("user", "a"), ("assistant", "b")])
        context.compress()
    with asked() as journal:
        [call] = journal.llm_calls(run.id or "")
        [listed] = journal.compressions(run.id or "")
    assert call["model"] == "mock-model"
    assert listed["summariser"] == call["seq"]


def test_a_compression_of_canonical_messages_is_recorded(asked: Callable[[], JournalClient]):
    policy = Compression(limit=500, strategy=LlmSummary(model=MockModel(SUMMARY)), keep=Keep(messages=2))
    with playhead.run("agent") as run:
        context = Context(system="s", compression=policy, api="canonical")
        for number in range(4):
            context.add("user" if number % 2 == 0 else "assistant", f"{number} {'word ' * 50}")
        context.compress("done")
    with asked() as journal:
        [listed] = journal.compressions(run.id or "")
    assert (listed["note"], listed["messages"]["summarised"], listed["messages"]["kept"]) == ("done", 2, 3)


def test_an_instrumented_client_records_the_summary_once(server: MockModelServer, asked: Callable[[], JournalClient]):
    playhead.instrument("anthropic")
    client = anthropic.Anthropic(api_key="k", base_url="http://mock", http_client=server.http_client())
    model = AnthropicModel("mock-model", client=client)
    with playhead.run("agent") as run:
        context = Context(compression=Compression(limit=500, strategy=LlmSummary(model=model), keep=Keep(messages=2)))
        play(context, [("user", "word " * 50), ("assistant", "word " * 50), ("user", "a"), ("assistant", "b")])
        context.compress()
    with asked() as journal:
        [call] = journal.llm_calls(run.id or "")
    assert call["provider"] == "anthropic"


def test_the_fallback_is_recorded_with_its_reason(asked: Callable[[], JournalClient]):
    def broken(_: object) -> str:
        raise TimeoutError("slow")

    policy = Compression(
        limit=500,
        strategy=LlmSummary(model=MockModel(broken)),
        keep=Keep(messages=2),
        fallback=SlidingWindow(2),
    )
    with playhead.run("agent") as run:
        context = Context(compression=policy)
        play(context, [("user", "word " * 50), ("assistant", "word " * 50), ("user", "a"), ("assistant", "b")])
        context.compress()
    with asked() as journal:
        [listed] = journal.compressions(run.id or "")
    assert (listed["strategy"], listed["fallback"]) == ("sliding_window", "TimeoutError: slow")


def test_outside_a_run_nothing_is_recorded(recording: Recording, tmp_path: Path):
    context = Context(compression=Compression(limit=500, strategy=LlmSummary(model=MockModel("short"))))
    play(
        context,
        [
            ("user", "word " * 150),
            ("assistant", "word " * 150),
            (
                "user",
                "a",
            ),
            ("assistant", "b"),
        ],
    )
    context.tag(context.messages[0], "first")
    assert context.compress().changed
    assert not recording.folder.exists() or recording.read().logs == []
